"""Tables of schemes and clients: each client runs over one scheme by default, and over the other as a campaign."""

import pytest

HTTP, HTTPS = False, True  # for the fixtures `bench` and `places`


def over(scheme: bool, *values: object, also: bool = False) -> object:
    """One row of such a table; with `also` a campaign, since other tests pair the same scheme and client."""
    words = ("https" if scheme else "http", *map(str, values))
    return pytest.param(scheme, *values, id="-".join(words), marks=[pytest.mark.campaign] if also else [])
