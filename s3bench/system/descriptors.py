"""How many files this process may open."""

import resource

_OPEN_MAX = 10_240
"""What macOS allows where the hard limit reads as infinite (setrlimit(2))."""


def descriptor_limit() -> int | None:
    """The limit on open files that this process may raise itself to; `None` where there is none."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if hard == resource.RLIM_INFINITY else hard


def raise_descriptor_limit(most: int) -> int:
    """Raise this process's soft limit on open files to the hard one, `most` at the most; what it is then."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = most if hard == resource.RLIM_INFINITY else min(hard, most)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    except (OSError, ValueError):  # macOS refuses more than it allows a process, whatever the hard limit says
        limit = min(limit, _OPEN_MAX)
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
    return limit
