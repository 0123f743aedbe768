"""Why servers differ: the verdicts, each with the page of AWS's documentation or the recorded answer that decides.

Owns how a verdict finds its differences, and the table that the documentation shows. The verdicts themselves are in
verdicts.toml beside this module.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from conformance.comparison import Difference

_FILE = Path(__file__).with_name("verdicts.toml")
_PAGES = "https://docs.aws.amazon.com/AmazonS3/latest/"
_RECORDED = "recorded "
_SHOWN = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Explains the differences whose call, server, aspect and sides fit its patterns (those of `fnmatch`)."""

    calls: tuple[str, ...]
    servers: tuple[str, ...]
    aspects: tuple[str, ...]
    ours: str
    theirs: str
    says: str
    page: str

    def fits(self, difference: Difference) -> bool:
        """Whether it explains the difference."""
        return (
            any(fnmatchcase(difference.call, call) for call in self.calls)
            and difference.server in self.servers
            and any(_like(difference.aspect, aspect) for aspect in self.aspects)
            and fnmatchcase(difference.ours, self.ours)
            and fnmatchcase(difference.theirs, self.theirs)
        )


class Verdicts:
    """All verdicts; of several that fit, the first counts."""

    def __init__(self, verdicts: Iterable[Verdict]) -> None:
        self._verdicts = tuple(verdicts)

    def explain(self, found: Iterable[Difference]) -> dict[Difference, Verdict]:
        """Give the verdict of each difference that has one."""
        pairs = ((difference, self._of(difference)) for difference in found)
        return {difference: verdict for difference, verdict in pairs if verdict is not None}

    def unused(self, found: Iterable[Difference]) -> list[Verdict]:
        """Give the verdicts that explain nothing any more."""
        used = {id(verdict) for verdict in self.explain(found).values()}
        return [verdict for verdict in self._verdicts if id(verdict) not in used]

    def markdown(self, found: Iterable[Difference]) -> str:
        """Render a table: a row for each verdict, with its calls counted and one of them shown."""
        by_verdict: dict[int, list[Difference]] = {}
        for difference, verdict in self.explain(found).items():
            by_verdict.setdefault(id(verdict), []).append(difference)
        lines = ["| Calls | Differs | Emulator | Other | Why, and who decides |", "| --- | --- | --- | --- | --- |"]
        groups = ((verdict, by_verdict.get(id(verdict))) for verdict in self._verdicts)
        lines += [_row(verdict, group) for verdict, group in groups if group]
        return "\n".join(lines)

    def _of(self, difference: Difference) -> Verdict | None:
        return next((verdict for verdict in self._verdicts if verdict.fits(difference)), None)


def read_verdicts() -> Verdicts:
    """Read verdicts.toml."""
    items = tomllib.loads(_FILE.read_text())["verdict"]
    return Verdicts(
        Verdict(
            calls=tuple(item.get("calls", ["*"])),
            servers=tuple(item.get("servers", ["versitygw", "moto"])),
            aspects=tuple(item.get("aspects", ["*"])),
            ours=item.get("ours", "*"),
            theirs=item.get("theirs", "*"),
            says=item["says"],
            page=_address(item["page"]),
        )
        for item in items
    )


def _address(page: str) -> str:
    return page if page.startswith(("open", _RECORDED, "https://")) else _PAGES + page


def _like(aspect: str, pattern: str) -> bool:
    """Match, where brackets are brackets: aspects have them, and need no sets."""
    return fnmatchcase(aspect, pattern.replace("[", "[[]"))


def _row(verdict: Verdict, group: list[Difference]) -> str:
    first = group[0]
    calls = sorted({difference.call for difference in group})
    more = f" (and {len(calls) - 1} more)" if len(calls) > 1 else ""
    sides = {
        server: next(difference.theirs for difference in group if difference.server == server)
        for server in sorted({difference.server for difference in group})
    }
    aspects = sorted({difference.aspect for difference in group})
    shown = ", ".join(aspects[:3]) + (", ..." if len(aspects) > 3 else "")
    theirs = "; ".join(f"{server}: `{_cell(text)}`" for server, text in sides.items())
    return (
        f"| {_plain(first.call)}{more} | {shown} | `{_cell(first.ours)}` | {theirs} | {verdict.says} {_link(verdict)} |"
    )


def _link(verdict: Verdict) -> str:
    if verdict.page == "open":
        return "(open)"
    if verdict.page.startswith(_RECORDED):
        return f"(recorded: {verdict.page.rpartition('::')[2]})"
    name = verdict.page.rpartition("/")[2].replace(".html", "")
    return f"[{name}]({verdict.page})"


def _cell(text: str) -> str:
    text = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return _plain(text).replace("`", "'")


def _plain(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
