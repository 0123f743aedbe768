"""The environment of a recorded definition: local files, objects and config, as JSON values. Pure."""

import configparser
from collections.abc import Iterable, Mapping
from typing import Any

from s3bench.clients.awsconfig import block_settings
from s3bench.clients.registry import known_clients
from s3bench.recording.local_files import LocalFiles
from s3bench.spec.awsconfig_table import PROFILE_KEYS, config_blocks
from s3bench.spec.names import FIXTURE_NAME

Json = dict[str, Any]

_VARIABLES = {
    "AWS_MAX_ATTEMPTS": "max_attempts",
    "AWS_REQUEST_CHECKSUM_CALCULATION": "request_checksum_calculation",
    "AWS_RESPONSE_CHECKSUM_VALIDATION": "response_checksum_validation",
    "AWS_RETRY_MODE": "retry_mode",
}
"""Variables that change requests as the keys of a profile do."""


class RecordedFixtures:
    """The fixtures of one definition, as they are collected; `left_out` are names that no fixture can have."""

    def __init__(self) -> None:
        self._files: list[Json] = []
        self._dirs: list[Json] = []
        self._trees: list[Json] = []
        self._literals: list[Json] = []
        self._tops: set[str] = set()
        self.left_out: list[str] = []

    def free_name(self, wanted: str) -> str:
        """`wanted`, or the same with a number if the command has a path of this name."""
        name, number = wanted, 2
        while name in self._tops:
            name, number = f"{wanted}-{number}", number + 1
        self._tops.add(name)
        return name

    def add_file(self, name: str, size_bytes: int, text: str | None = None) -> None:
        """Add one file, with its contents where there are any."""
        self._tops.add(name.partition("/")[0])
        if not self._can_be(name):
            return
        if text is not None:
            self._literals.append({"name": name, "content": text})
        else:
            self._files.append({"name": name, "size": size_bytes, "fill": "random"})

    def add_directory(self, name: str, sizes: Iterable[tuple[str, int]]) -> None:
        """Add a directory with files, in the shortest form that says them."""
        files = [(path, size) for path, size in sizes if self._can_be(f"{name}/{path}")]
        self._tops.add(name.partition("/")[0])
        if len({size for _, size in files}) <= 1 and _are_numbered([path for path, _ in files]):
            size = files[0][1] if files else 0
            self._dirs.append({"name": name, "file_count": len(files), "file_size": size, "fill": "random"})
        else:
            self._trees.append({"name": name, "fill": "random", "sizes": dict(files)})

    def add_local(self, local: LocalFiles, *, without: Iterable[str] = ()) -> None:
        """Add what the command reads, `without` some of the files."""
        texts, omitted = dict(local.texts), frozenset(without)
        sizes = {name: size for name, size in local.sizes if name not in omitted}
        for name in texts.keys() & sizes.keys():
            self.add_file(name, sizes.pop(name), texts[name])
        directories = {root for root in local.directories if root != "."}
        if "." in local.directories:
            directories |= {name.partition("/")[0] for name in sizes if "/" in name}
        outermost = [name for name in sorted(directories) if not _is_below(name, directories)]
        for directory in outermost:
            below = [name for name in sizes if name.startswith(f"{directory}/")]
            self.add_directory(directory, [(name.removeprefix(f"{directory}/"), sizes.pop(name)) for name in below])
        for name, size in sizes.items():
            self.add_file(name, size)

    def _can_be(self, name: str) -> bool:
        if FIXTURE_NAME.check(name) is None:
            return True
        self.left_out.append(name)
        return False

    def as_json(self) -> Json:
        """The lists that are not empty."""
        lists = {
            "files": self._files,
            "file_dirs": self._dirs,
            "file_trees": self._trees,
            "file_literals": self._literals,
        }
        return {name: items for name, items in lists.items() if items}


def _is_below(name: str, directories: set[str]) -> bool:
    return any(name.startswith(f"{other}/") for other in directories)


def _are_numbered(paths: list[str]) -> bool:
    """Whether the paths are those of `file_dirs`: `file-000000` and so on."""
    return sorted(paths) == [f"file-{at:06d}" for at in range(len(paths))]


def recorded_config(
    text: str, *, profile: str, variables: Mapping[str, str], own: Mapping[str, Mapping[str, str]], is_portable: bool
) -> tuple[str, tuple[str, ...]]:
    """The config of the definition from the user's config file, and the names of the keys that were left out.

    It has the keys that a definition may set, and no credentials. `own` are settings of a client, by block. A portable
    definition runs on Classic and on CRT, so that it prefers none.
    """
    values, blocks, left_out = _profile_of(text, profile)
    values |= {key: variables[name] for name, key in _VARIABLES.items() if variables.get(name)}
    if is_portable:
        blocks.get("s3", {}).pop("preferred_transfer_client", None)
    blocks |= {block: dict(settings) for block, settings in own.items()}
    lines = [f"{key} = {value}" for key, value in values.items()]
    for block, settings in blocks.items():
        if settings:
            lines += [f"{block} =", *(f"    {key} = {value}" for key, value in settings.items())]
    return "\n".join(["[default]", *lines]), left_out


def _profile_of(text: str, profile: str) -> tuple[dict[str, str], dict[str, dict[str, str]], tuple[str, ...]]:
    sections = configparser.RawConfigParser(default_section="", strict=False)
    try:
        sections.read_string(text)
    except configparser.Error:
        return {}, {}, ()
    section = next((name for name in (f"profile {profile}", profile) if sections.has_section(name)), None)
    if section is None:
        return {}, {}, ()
    allowed = config_blocks(known_clients())["s3"]
    keys = dict(sections.items(section))
    given = block_settings(text, "s3", profile=profile)
    s3 = {key: value for key, value in given.items() if key in allowed}
    values = {key: value for key, value in keys.items() if key in PROFILE_KEYS and value and "\n" not in value}
    left_out = (*(key for key in keys if key not in PROFILE_KEYS and key != "s3"), *(given.keys() - allowed))
    return values, {"s3": s3}, tuple(left_out)
