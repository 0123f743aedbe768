"""What a benchmark prints about a bar."""


def met_or_missed(is_met: bool, /) -> str:  # noqa: FBT001 (there is nothing else to say)
    """The word for it, the same in all tables."""
    return "met" if is_met else "MISSED"
