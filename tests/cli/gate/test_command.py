"""What `s3bench gate` refuses, before anything runs. What it does is tests/e2e/test_gate.py's."""

from pathlib import Path

import pytest

from tests.cli.conftest import Here


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "one of three things"),
        (("--baseline", "s5cmd"), "--baseline and --candidate need each other"),
        (("a.json",), "takes two, not 1"),
        (("--baseline", "s5cmd", "--candidate", "s5cdm"), "did you mean `s5cmd`"),
        (("--baseline", "s5cmd", "--candidate", "cli-classic@9.9.9", "-k", "4KB"), "awscli==9.9.9"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--pairs", "10,9"), "--pairs 10,9"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--pairs", "4"), "nothing could ever FAIL"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--metric", "totaltime"), "did you mean total_time"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--exact", "request"), "did you mean requests"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--zone", "total_time=6%,2%"), "--zone"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--max-time", "soon"), '--max-time is "soon"'),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--rounds", "3"), "--rounds needs --self-test"),
        (("a.json", "b.json", "--tls"), "--tls needs --baseline and --candidate"),
        (("a.json", "b.json", "--no-explain"), "--explain needs --baseline and --candidate"),
        (("a.json", "b.json", "--pairs", "10,20"), "--pairs needs --baseline and --candidate"),
        (("--replay", "missing.json", "--timeout", "9"), "--timeout needs --baseline and --candidate"),
        (("a.json", "b.json", "--max-time", "9s", "--rounds", "3"), "leave --max-time and --rounds out"),
        (("--baseline", "s5cmd", "--candidate", "s5cmd", "--metric", "none", "--no-exact"), "contradict each other"),
        (("--metric", "none", "--metric", "cpu_time"), "--metric none and another --metric contradict each other"),
        (("--replay", "missing.json"), "cannot read missing.json"),
        (("--replay", "missing.json", "--baseline", "s5cmd", "--candidate", "s5cmd"), "one of three things"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(
    here: Here, arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    finished = here("gate", *arguments, cwd=tmp_path)
    unreachable = "is the package index reachable" in finished.stderr
    assert finished.returncode == (4 if unreachable else 2), finished.stderr
    assert said in finished.stderr
    assert not finished.stdout
    assert "Traceback" not in finished.stderr
    assert list(tmp_path.iterdir()) == []
