"""What tests of a page in a browser share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page


@dataclass
class Opened:
    """An open page, what it asked for, and what its console said."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


Open = Callable[..., Opened]

_CONTRAST = "color-contrast"
_LEFT_OUT = "region"
"""A rule that is never run: what it finds is moderate, and it takes up to a third of the time of all but contrast."""
_FURTHER_ROWS = "tbody tr:nth-child(n+6)"
"""Rows that look as those before them: the contrast of thousands of cells takes most of the time of a page."""


class Rules(Enum):
    """The rules of axe-core to check a page with. Contrast is apart, since it takes three quarters of the time."""

    ALL = auto()
    CONTRAST = auto()
    ALL_BUT_CONTRAST = auto()


_RUN = """([context, options]) => axe.run(context, options).then(({violations}) => violations
  .filter(({impact}) => ["serious", "critical"].includes(impact))
  .flatMap(({id, nodes}) => nodes.map(({html}) => `${id}: ${html.slice(0, 200)}`)))"""
_QUICK = {"resultTypes": ["violations"], "selectors": False, "preload": False}
"""`selectors`: which elements are meant is not worked out. `preload`: no rule for our pages needs styles or media."""


def serious_faults(page: Page, rules: Rules = Rules.ALL) -> list[str]:
    """The serious and critical faults that axe-core finds in the page as it is now."""
    if rules is Rules.CONTRAST:
        chosen: dict[str, object] = {"runOnly": [_CONTRAST]}
    else:
        chosen = {"rules": {_LEFT_OUT: {"enabled": False}, _CONTRAST: {"enabled": rules is Rules.ALL}}}
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE_SCRIPT)
    found: list[str] = page.evaluate(_RUN, [{"exclude": [[_FURTHER_ROWS]]}, {**_QUICK, **chosen}])
    return found
