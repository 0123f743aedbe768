"""Turns unexpected exceptions into errors with a message and an exit code; never exit code 1, a regression."""

import sys

from s3bench.errors import BadInput, MachineError, S3BenchError


class Defect(S3BenchError):
    """A bug in s3bench."""


def explained(error: Exception) -> S3BenchError:
    """The error of s3bench for any exception."""
    match error:
        case S3BenchError():
            return error
        case OSError():
            place = f"{error.filename}: " if error.filename else ""
            return MachineError(f"{place}{error.strerror or str(error) or type(error).__name__}", fix=_REMEDY)
        case MemoryError():
            return MachineError("out of memory", str(error), "use fewer workers, fewer objects or smaller files")
        case OverflowError() if _has_text(error, _TOO_LARGE):
            return BadInput("a number in the input is too large", str(error), "pass the file as s3bench wrote it")
        case RecursionError() if _has_text(error, _WHILE_PARSING):
            return BadInput("the input is nested too deeply", fix="pass a file that s3bench wrote, or a simpler one")
    if _is_of_botocore(error):
        return MachineError("the endpoint or its configuration failed", str(error), "check the URL and credentials")
    return Defect(
        f"a bug in s3bench: {type(error).__name__}: {error}",
        fix="please report it with the command line and the traceback below",
    )


_WHILE_PARSING = ("while decoding a JSON", "while deserializing")
"""What the parsers of `json` and `msgspec` alone say when levels are too many; at any other place that is a defect."""

_TOO_LARGE = ("int too large to convert to float", "integer division result too large for a float")
"""What Python says of whole numbers of 309 digits and more. They come from files: nothing measured is so large."""

_REMEDY = "check disk space, permissions and open files (`ulimit -n`), then run it again"


def _has_text(error: Exception, parts: tuple[str, ...]) -> bool:
    return any(part in str(error) for part in parts)


def _is_of_botocore(error: Exception) -> bool:
    """Whether botocore raised it, without importing botocore, which is slow."""
    module = sys.modules.get("botocore.exceptions")
    return module is not None and isinstance(error, module.BotoCoreError | module.ClientError)
