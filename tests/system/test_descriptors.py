import json
import resource
import subprocess
import sys

from s3bench.system.descriptors import descriptor_limit

PROGRAM = """
import json, resource
from s3bench.system.descriptors import raise_descriptor_limit
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 256))
first = raise_descriptor_limit(128)
print(json.dumps([first, raise_descriptor_limit(1000), resource.getrlimit(resource.RLIMIT_NOFILE)[0]]))
"""


def test_the_limit_is_raised_to_what_is_wanted_or_to_the_hard_limit() -> None:
    told = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    assert json.loads(told.stdout) == [128, 256, 256]


def test_the_limit_that_can_be_reached_is_the_hard_one() -> None:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert descriptor_limit() == (None if hard == resource.RLIM_INFINITY else hard)
