"""Counts the calls of an aws-cli v1 from its start on, if it has the probe and $S3BENCH_CALL_COUNTS_FILE is set.

Python imports a module of this name when it starts. Removes its directory from where modules are searched, also for
child processes, and then imports the `sitecustomize` that it hides, if there is one.
"""

import os
import sys

_OWN = os.path.dirname(__file__)

sys.path[:] = [place for place in sys.path if place != _OWN]
os.environ["PYTHONPATH"] = ":".join(place for place in os.environ.get("PYTHONPATH", "").split(":") if place != _OWN)
sys.modules.pop("sitecustomize", None)
try:  # noqa: SIM105 (contextlib would be an import of ours)
    __import__("sitecustomize")
except ModuleNotFoundError:
    pass
if os.environ.get("S3BENCH_CALL_COUNTS_FILE"):
    try:
        from s3bench_probe import call_counts  # type: ignore[import-not-found,unused-ignore]
    except ModuleNotFoundError:  # a client that starts the probe by itself
        pass
    else:
        call_counts.install("imports")
