"""A line of a log that cannot be understood."""


class BrokenLine(ValueError):
    """The line is not one of its format; `kind` says what is wrong, in words that many lines share."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind
