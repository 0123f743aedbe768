"""Errors that nobody foresaw, as messages: what went wrong, why, and what to do.

None of them ends with exit code 1, which means a regression.
"""

import sys

from s3bench.errors import BadInput, MachineError, S3BenchError


class Defect(S3BenchError):
    """A mistake in s3bench itself; its cause has the traceback."""


def explained(error: Exception) -> S3BenchError:
    """Make an error with a message of any other."""
    match error:
        case S3BenchError():
            return error
        case OSError():
            place = f"{error.filename}: " if error.filename else ""
            return MachineError(f"{place}{error.strerror or str(error) or type(error).__name__}", fix=_REMEDY)
        case MemoryError():
            return MachineError("out of memory", str(error), "use fewer workers, fewer objects or smaller files")
        case OverflowError():
            return BadInput("a number in the input is too large", str(error), "give the file as s3bench wrote it")
        case RecursionError():
            return BadInput("the input is nested too deeply", fix="give a file that s3bench wrote, or a simpler one")
    if _is_of_botocore(error):
        return MachineError("the endpoint or its configuration failed", str(error), "check the URL and credentials")
    return Defect(
        f"s3bench has failed because of a defect of its own: {type(error).__name__}: {error}",
        fix="report it with the traceback below and the command line",
    )


_REMEDY = "check disk space, permissions and open files (`ulimit -n`), then run it again"


def _is_of_botocore(error: Exception) -> bool:
    """Whether botocore raised it. Where botocore was not imported it cannot have, and it takes a while to import."""
    module = sys.modules.get("botocore.exceptions")
    return module is not None and isinstance(error, module.BotoCoreError | module.ClientError)
