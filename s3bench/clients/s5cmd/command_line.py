"""Command lines of s5cmd as commands of aws-cli that do the same. Pure."""

from pathlib import Path

from s3bench.clients.descriptor import AwsCommand, Untranslatable

_VERBS = frozenset({"cp", "mv", "sync", "rm"})
_OPTIONS = {
    "--log": 1, "--numworkers": 1, "--profile": 1, "--retry-count": 1, "-r": 1, "--json": 0, "--stat": 0,
    "--concurrency": 1, "-c": 1, "--part-size": 1, "-p": 1, "--exclude": 1, "--delete": 0,
}  # fmt: skip
"""The options that are understood, with their numbers of values."""

_SETTINGS = {
    "--numworkers": "numworkers", "--concurrency": "concurrency", "-c": "concurrency", "--part-size": "part_size",
    "-p": "part_size",
}  # fmt: skip


def aws_command(words: tuple[str, ...], folder: Path) -> AwsCommand:
    """The transfer of the command line `words`, typed in `folder`. Raises `Untranslatable`."""
    verb, places, options, settings = _split(words)
    if verb not in _VERBS or len(places) != (1 if verb == "rm" else 2):
        raise Untranslatable("s3bench knows its commands cp, mv, sync and rm")
    source, *target = places
    is_many = source.endswith("*") or (not source.startswith("s3://") and (folder / source).is_dir())
    source = source.removesuffix("*")
    if "*" in source or "?" in source:
        raise Untranslatable(f"`{places[0]}` has a wildcard that aws-cli has not")
    recursive = ["--recursive"] if is_many and verb != "sync" else []
    return AwsCommand(words=("s3", verb, source, *target, *recursive, *options), settings=settings)


def _split(
    words: tuple[str, ...],
) -> tuple[str, list[str], list[str], tuple[tuple[str, str], ...]]:
    """The verb, the locations, the options that aws-cli has too, and the settings of a command line."""
    settings: dict[str, str] = {}
    options: list[str] = []
    free: list[str] = []
    at = 0
    while at < len(words):
        name, equals, value = words[at].partition("=")
        takes = _OPTIONS.get(name, 0)
        if name.startswith("-") and name not in _OPTIONS:
            raise Untranslatable(f"`{words[at]}` has no counterpart that s3bench knows")
        if takes and not equals:
            value = "".join(words[at + 1 : at + 2])
        if name in _SETTINGS:
            setting = _SETTINGS[name]
            settings[setting] = f"{value}MB" if setting == "part_size" else value
        elif name in {"--exclude", "--delete"}:
            options += [name, value] if takes else [name]
        elif not name.startswith("-"):
            free.append(words[at])
        at += 1 if equals else 1 + takes
    return "".join(free[:1]), free[1:], options, tuple(settings.items())
