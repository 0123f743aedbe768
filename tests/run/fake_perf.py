"""A program in the place of perf: what it records, says and shows is told."""

from pathlib import Path


def fake_perf(
    directory: Path, *, record: str = "", exit_code: int = 0, script: str = 'cat "$recorded"', event: str = "cpu-clock"
) -> str:
    """Make it; `record` and `script` are commands of the shell, for which `$recorded` is the file that is recorded."""
    program = directory / "perf"
    program.write_text(
        "#!/bin/sh\n"
        "verb=$1\n"
        'while [ $# -gt 0 ]; do case "$1" in -o|-i) recorded=$2 ;; --) break ;; esac; shift; done\n'
        'case "$verb" in\n'
        f"record) {record or ':'}; exit {exit_code} ;;\n"
        f"script) {script} ;;\n"
        f"evlist) echo {event} ;;\n"
        "esac\n"
    )
    program.chmod(0o755)
    return str(program)
