"""Clients of a few lines of Python, and what makes launches of them."""

from collections.abc import Callable

from s3bench.run.process import Launch

MIB = 1 << 20

Launcher = Callable[..., Launch]

HOLD = "held = bytearray(b'x') * ({mib} << 20)"
BURN = "import time\nend = time.process_time() + {cpu_s}\nwhile time.process_time() < end: pass"


def in_child(code: str) -> str:
    """Code that runs `code` in a child and waits for it."""
    return f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-S', '-c', {code!r}], check=True)"
