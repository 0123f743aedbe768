"""Expands `~` and `~user` in a path that a user gave, for which the system has to know that user."""

from pathlib import Path

from s3bench.errors import BadInput


def expand_home(text: str) -> Path:
    """The path of `text`, in which a leading `~` or `~user` is a home directory. Raises `BadInput` if there is none."""
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        home = text.partition("/")[0]
        raise BadInput(
            f"{text}: {home} has no home directory here",
            fix=f"write the whole path, or ./{home} for a file of that name",
        ) from error
