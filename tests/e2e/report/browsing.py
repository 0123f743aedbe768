"""What tests of a page in a browser share."""

from collections.abc import Callable
from dataclasses import dataclass, field

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page


@dataclass
class Opened:
    """An open page, what it asked for, and what its console said."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


Open = Callable[..., Opened]

_FURTHER_ROWS = "tbody tr:nth-child(n+6)"
"""Rows that look as those before them: the contrast of thousands of cells takes most of the time of a page."""


def serious_faults(page: Page, *, contrast: bool = True) -> list[str]:
    """What axe-core finds in the page as it stands, of those that keep people out.

    Without `contrast`, that of colours is left out, which takes three quarters of the time.
    """
    options = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": contrast}}}
    violations = Axe().run(page, context={"exclude": [[_FURTHER_ROWS]]}, options=options).response["violations"]
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in violations
        if each["impact"] in {"serious", "critical"}
        for node in each["nodes"]
    ]
