"""Checks that a command uses only s3bench's endpoint and credentials and files of the workspace.

It rejects options that s3bench sets itself, commands of aws-cli that do more than call a service, and paths that leave
the workspace. Which arguments are paths is unknown without the models of every service, so every argument is checked as
a path, except the values of options that take none.
"""

import re
from collections.abc import Iterator

from s3bench.spec.names import leaves_workspace, mended_name
from s3bench.spec.reader import Complaint, Report, Steps, quoted
from s3bench.spec.transfer_options import GLOBAL_OPTIONS, TRANSFER_OPTIONS, Values

_SET_BY_US = {
    "--endpoint-url": "s3bench points the client at its own endpoint; for another give `s3bench run --endpoint-url`",
    "--profile": "s3bench gives the client its own config; put settings under `[default]` in `environment.config`",
    "--no-verify-ssl": "s3bench gives the client the certificate to trust; for HTTPS give `s3bench run --tls`",
    "--ca-bundle": "s3bench gives the client the certificate to trust; for HTTPS give `s3bench run --tls`",
    "--cli-auto-prompt": "it waits for input from a keyboard",
}

_NOT_MEASURED = {
    "codeartifact": {"login"},
    "configure": set(),
    "deploy": {"deregister", "install", "register", "uninstall"},
    "ec2-instance-connect": {"open-tunnel", "ssh"},
    "ecs": {"execute-command"},
    "emr": {"get", "put", "socks", "ssh"},
    "lightsail": {"push-container-image"},
    "login": set(),
    "logout": set(),
    "opsworks": {"register"},
    "ssm": {"start-session"},
    "sso": {"login", "logout"},
}
"""Commands of aws-cli (awscli/customizations) that start other programs or change settings; an empty set: all."""

FILE_OPTIONS = (
    "--annotation-payload",
    "--asset-content",
    "--block-data",
    "--body",
    "--build-root",
    "--bundle",
    "--certificate-pem-outfile",
    "--codedeploy-appspec",
    "--documents",
    "--file-path",
    "--function-zip",
    "--input-stream",
    "--invoke-args",
    "--key-pair-file",
    "--kubeconfig",
    "--outfile",
    "--output-template-file",
    "--payload",
    "--priv-launch-key",
    "--private-key-file",
    "--private-key-outfile",
    "--public-key-outfile",
    "--save-as",
    "--source",
    "--task-definition",
    "--template-file",
    "--zip-file",
)
"""Options of aws-cli whose value is the path of a file to write or read: streaming members of botocore's models, and
those of awscli/customizations."""

PARAMETER_FILE = re.compile(r"^(?:--[^=]*=)?fileb?://(.*)", re.DOTALL)
"""A value that names a file: the path is all that follows."""

# In the middle of other text the path may end at such a character.
_PARAMETER_FILES = (
    PARAMETER_FILE,
    re.compile(r"@=fileb?://(.*)", re.DOTALL),
    re.compile(r"fileb?://([^\s,;\]}\"']*)"),
)
# os.path.expanduser and expandvars, with which aws-cli reads paths.
_EXPANDED = re.compile(r"^~|\$(?=[\w{])")


def check_command(command: tuple[str, ...], at: Steps, report: Report) -> None:
    """Report every argument of `command` with which it would do more than run a service's command in the workspace."""
    _check_beginning(command, at, report)
    for index, argument in enumerate(command):
        complaint = _set_by_us(argument) or _parameter_file(argument)
        if complaint:
            report.add((*at, index), complaint)
    service = _service(command)
    is_expanded = service is None or command[service] != "s3"  # aws s3 takes paths as they are
    for index, path in _paths(command):
        way_out = _way_out(path) if is_expanded else leaves_workspace(path)
        if way_out and not report.touches((*at, index)):
            what = f"is {quoted(command[index])}: {way_out}"
            report.add((*at, index), Complaint(what, _path_fix(command, index, path)))


def _check_beginning(command: tuple[str, ...], at: Steps, report: Report) -> None:
    service = _service(command)
    if service is None or report.touches((*at, service)):
        return
    name, place = command[service], (*at, service)
    if name.startswith("-"):
        what = f"is {quoted(name)}, which is not a known option of `aws` itself"
        report.add(place, Complaint(what, "begin the command with a service, e.g. `s3`"))
        return
    subcommands = _NOT_MEASURED.get(name)
    if subcommands == set():
        report.add(place, Complaint(f"is {quoted(name)}, which calls no service", "measure a service's command"))
    for index, word in enumerate(command[service + 1 :], service + 1):
        if word in (subcommands or ()) or (index == service + 1 and word == "wizard"):
            what = f"is {quoted(word)} of {quoted(name)}, which starts other programs or asks questions"
            report.add((*at, index), Complaint(what, "measure a command that only calls the service"))


def _service(command: tuple[str, ...]) -> int | None:
    """The index of the first argument after the leading options of `aws` itself; `None` if there is none."""
    at = 0
    while at < len(command):
        values = GLOBAL_OPTIONS.get(command[at].partition("=")[0])
        if values is None:
            return at
        at += 2 if values is Values.ONE and "=" not in command[at] else 1
    return None


def _set_by_us(argument: str) -> Complaint | None:
    """The complaint about an option that s3bench sets, also if abbreviated as Python's argparse allows."""
    name = argument.partition("=")[0]
    if len(name) <= len("--") or not name.startswith("--"):
        return None
    option = next((option for option in _SET_BY_US if option.startswith(name)), None)
    if option is None or name in GLOBAL_OPTIONS.keys() - _SET_BY_US.keys():
        return None
    short = "" if name == option else f", short for `{option}`"
    return Complaint(f"is `{name}`{short}, which s3bench sets", f"remove it: {_SET_BY_US[option]}")


def _parameter_file(argument: str) -> Complaint | None:
    for path in (path for pattern in _PARAMETER_FILES for path in pattern.findall(argument)):
        if way_out := _way_out(path):
            what = f"is {quoted(argument)}: {way_out}"
            return Complaint(what, f"name a file inside the workspace: file://{_mended(path).strip(chr(34))}")
    return None


def _way_out(path: str) -> str:
    """How `path` leaves the workspace, in words, after aws-cli has expanded it; empty if it stays inside."""
    return leaves_workspace(path) or ("`~` and `$` may leave the workspace" if _EXPANDED.search(path) else "")


def _mended(path: str) -> str:
    return mended_name(_EXPANDED.sub("", path))


def _paths(command: tuple[str, ...]) -> Iterator[tuple[int, str]]:
    """Yield the index and the path of every argument that may be a local path."""
    service = _service(command)
    is_s3 = service is not None and command[service] == "s3"
    options = TRANSFER_OPTIONS if is_s3 else GLOBAL_OPTIONS
    is_value = False
    for index, argument in enumerate(command):
        name, equals, value = argument.partition("=")
        if argument.startswith("--"):
            is_value = not equals and options.get(name) is Values.ONE
            if equals and _may_name_file(name):
                yield index, value
            continue
        if not is_value and not (is_s3 and argument.startswith("s3://")):
            yield index, argument
        is_value = False


def _may_name_file(option: str) -> bool:
    """Whether it is, or may be short for, an option whose value is a path. `--key` is an option of its own in s3api."""
    return len(option) > len("--") and option != "--key" and any(full.startswith(option) for full in FILE_OPTIONS)


def _path_fix(command: tuple[str, ...], index: int, path: str) -> str:
    fix = f"name a file inside the workspace: {_mended(path)}"
    before = command[index - 1] if index else ""
    if before.startswith("--") and "=" not in before:
        return f"{fix}; if it is the value of `{before}` and not a path, write {quoted(f'{before}={path}')}"
    return fix
