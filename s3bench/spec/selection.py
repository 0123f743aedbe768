"""Parses and evaluates the expression of `-k`: words with `and`, `or`, `not` and parentheses, as in pytest.

A word matches if it is part of a benchmark's name, client, tags or a dimension's value, ignoring case. `NAME=VALUE`
matches that dimension alone: `FileSize=4KB`. A word with spaces or parentheses needs double quotes.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from s3bench.errors import BadInput
from s3bench.spec.label import benchmark_label

DEPTH_MAX = 50
_TOKEN = re.compile(r'\s*(?:(?P<mark>[()])|"(?P<quoted>[^"]*)"|(?P<word>[^\s()"]+))')
_KEYWORDS = frozenset({"and", "or", "not"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """What words are compared with: a benchmark's name and dimensions, and `others`, its client and tags."""

    name: str
    dimensions: tuple[tuple[str, str], ...] = ()
    others: tuple[str, ...] = ()

    def words(self) -> tuple[str, ...]:
        """The texts that a word may be a part of."""
        return self.name, *(value for _, value in self.dimensions), *self.others

    def pairs(self) -> tuple[str, ...]:
        """Each dimension as `NAME=VALUE`."""
        return tuple(f"{name}={value}" for name, value in self.dimensions)

    def match(self, word: str) -> bool:
        """Whether the case-folded `word` is part of a text, or the whole `NAME=VALUE` or label of the benchmark."""
        if any(word in text.casefold() for text in self.words()):
            return True
        wholes = (*self.pairs(), benchmark_label(self.name, self.dimensions))
        return "=" in word and any(word == text.casefold() for text in wholes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A parsed expression: `picks` evaluates it for labels, `words` are the words in it."""

    picks: Callable[[Labels], bool]
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Token:
    kind: str  # "(", ")", "and", "or", "not", "word" or "end"
    text: str
    column: int


def parse_selection(expression: str) -> Selection:
    """Parse `expression`. Raises `BadInput` with the column (from 1) of a syntax error."""
    parser = _Parser(expression)
    picks = parser.any_of(0)
    parser.expect("end", "`and`, `or` or the end")
    return Selection(picks=picks, words=tuple(parser.words))


class _Parser:
    def __init__(self, expression: str) -> None:
        self._expression = expression
        self._tokens = list(self._split())
        self._at = 0
        self.words: list[str] = []

    def _split(self) -> Iterator[_Token]:
        text, at = self._expression, 0
        while text[at:].strip():
            found = _TOKEN.match(text, at)
            if not found or found["quoted"] == "":
                column = at + 1 + len(text[at:]) - len(text[at:].lstrip())
                raise self._wrong(column, "a word between two quotes")
            at = found.end()
            kind = found["mark"] or "word"
            if found["word"] and found["word"].lower() in _KEYWORDS:
                kind = found["word"].lower()
            yield _Token(
                kind=kind, text=found["word"] or found["quoted"] or "", column=found.start(found.lastgroup or 0) + 1
            )
        yield _Token(kind="end", text="", column=len(text) + 1)

    def _wrong(self, column: int, wanted: str) -> BadInput:
        return BadInput(
            f"-k: expected {wanted} at column {column}",
            f"{self._expression}\n{' ' * (column - 1)}^",
            'write words with `and`, `or`, `not` and parentheses, e.g. -k "upload and not crt"',
        )

    def expect(self, kind: str, wanted: str) -> _Token:
        token = self._tokens[self._at]
        if token.kind != kind:
            raise self._wrong(token.column, wanted)
        self._at += 1
        return token

    def _next_is(self, kind: str) -> bool:
        return self._tokens[self._at].kind == kind

    def any_of(self, depth: int) -> Callable[[Labels], bool]:
        parts = [self._all_of(depth)]
        while self._next_is("or"):
            self._at += 1
            parts.append(self._all_of(depth))
        return parts[0] if len(parts) == 1 else lambda labels: any(part(labels) for part in parts)

    def _all_of(self, depth: int) -> Callable[[Labels], bool]:
        parts = [self._one(depth)]
        while self._next_is("and"):
            self._at += 1
            parts.append(self._one(depth))
        return parts[0] if len(parts) == 1 else lambda labels: all(part(labels) for part in parts)

    def _one(self, depth: int) -> Callable[[Labels], bool]:
        if depth > DEPTH_MAX:
            raise self._wrong(self._tokens[self._at].column, f"no more than {DEPTH_MAX} levels of parentheses")
        if self._next_is("not"):
            self._at += 1
            inner = self._one(depth + 1)
            return lambda labels: not inner(labels)
        if self._next_is("("):
            self._at += 1
            inner = self.any_of(depth + 1)
            self.expect(")", "`)`")
            return inner
        word = self.expect("word", "a word, `not` or `(`").text.casefold()
        self.words.append(word)
        return lambda labels: labels.match(word)
