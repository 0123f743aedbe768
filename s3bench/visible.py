r"""Makes untrusted text safe to print: what could control a terminal or a CI job becomes a visible escape.

Escapes have the form of JSON, `\u001b`, so that escaped JSON is still JSON with the same meaning.
"""

import re

# C0 controls but tab and line feed (a carriage return passes before a line feed: CSV), DEL and C1 controls (ECMA-48);
# line separators, marks and embeddings of the bidirectional algorithm (UAX 9); surrogates, which UTF-8 cannot hold;
# workflow commands in logs of GitHub Actions, `::` at a line's start or `##[` anywhere (actions/runner, ActionCommand).
_UNSAFE = (
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]|\r(?!\n)"
    r"|(?m:^)[^\S\n]*:(?=:)|#(?=#\[)"
)
_PATTERN = re.compile(_UNSAFE)
_STYLE = r"\x1b\[[0-9;]*m"  # select graphic rendition (ECMA-48)
_STYLED_PATTERN = re.compile(rf"(?!{_STYLE})(?:{_UNSAFE})")


def visible(text: str) -> str:
    r"""`text` with controls, bidirectional marks, surrogates and CI commands as `\u001b`; tabs and line feeds stay."""
    return _PATTERN.sub(_escaped, text)


def visible_styled(text: str) -> str:
    """The same, but styles (colours and weights) stay."""
    return _STYLED_PATTERN.sub(_escaped, text)


def _escaped(found: re.Match[str]) -> str:
    return f"{found[0][:-1]}\\u{ord(found[0][-1]):04x}"
