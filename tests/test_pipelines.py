"""The composite action, the workflows and the image: what they run works, and their files are valid."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from tests.pipeline import ROOT, Runner

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
QUICK = "--pairs 10 --no-exact --seed 1"
UPLOAD = {
    "name": "upload",
    "command": ["s3", "cp", "file", "s3://bucket/key"],
    "clients": ["s5cmd"],
    "environment": {"files": [{"name": "file", "size": 4096}]},
    "responses": [{"match": {"method": "PUT"}, "instances": "any"}],
}


def job(tmp_path: Path, **inputs: str) -> Runner:
    """A job in which this environment's s3bench stands where the action's first step installs one."""
    runner = Runner(tmp_path / "job", ROOT, {name.replace("_", "-"): value for name, value in inputs.items()})
    programs = runner.temporary / "s3bench" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "s3bench"):
        (programs / name).symlink_to(Path(sys.executable).parent / name)
    (tmp_path / "job" / "upload.json").write_text(json.dumps([UPLOAD]))
    return runner


def test_a_gate_leaves_a_record_a_page_a_summary_a_comment_and_its_verdict(tmp_path: Path) -> None:
    clients = {"baseline": "s5cmd", "candidate": "s5cmd"}
    runner = job(tmp_path, **clients, definitions="upload.json", options=QUICK, max_time="0.01s")
    done = runner.run("Gate")
    assert done.returncode == 0, done
    assert (runner.output("exit-code"), runner.output("verdict")) == ("3", "INCONCLUSIVE")
    assert done.stdout.startswith("INCONCLUSIVE")
    assert "--max-time 0.01s has passed" in done.stdout
    assert "::warning" in done.stderr
    assert "::error" not in done.stderr
    results = runner.temporary / "s3bench-gate"
    assert {path.name for path in results.iterdir()} == {"gate.json", "gate.html", "gate.xml", "comment.md"}
    assert "INCONCLUSIVE" in runner.summary.read_text()
    assert "INCONCLUSIVE" in (results / "comment.md").read_text()
    assert runner.run("Verdict").returncode == 0


RECORDER = """#!/bin/bash
printf '%s\\0' "$@" > "$RUNNER_TEMP/words"
"""


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", ()),
        ("--pairs 10,20\n--strict\n", ("--pairs", "10,20", "--strict")),
        (
            "--waivers 'my file.json'\n  --metric \"peak memory\"",
            ("--waivers", "my file.json", "--metric", "peak memory"),
        ),
        ("--waivers * --strict", ("--waivers", "*", "--strict")),
    ],
)
def test_options_may_be_on_several_lines_and_quoted_as_in_a_shell(
    tmp_path: Path, options: str, expected: tuple[str, ...]
) -> None:
    runner = job(tmp_path, baseline="s5cmd", candidate="s5cmd", options=options)
    program = runner.temporary / "s3bench" / "bin" / "s3bench"
    program.unlink()
    program.write_text(RECORDER)
    program.chmod(0o755)
    assert runner.run("Gate").returncode == 0
    words = (runner.temporary / "words").read_text().split("\0")
    assert tuple(words[words.index("--force") + 1 : words.index("-o")]) == expected


def test_options_with_an_open_quote_are_an_error_and_no_gate_runs(tmp_path: Path) -> None:
    runner = job(tmp_path, baseline="s5cmd", candidate="s5cmd", definitions="upload.json", options="--waivers 'my")
    done = runner.run("Gate")
    assert done.returncode == 2
    assert "::error::the input `options` cannot be split into words: close its quotes" in done.stdout
    assert not (runner.temporary / "s3bench-gate" / "gate.json").exists()


def test_the_pipelines_of_gitlab_and_jenkins_start_a_shell_in_the_image_and_not_its_entry_point() -> None:
    pipelines = ROOT / "examples" / "pipelines"
    gitlab = yaml.safe_load((pipelines / "gitlab-ci.yml").read_text())["performance-gate"]
    assert gitlab["image"]["entrypoint"] == [""]
    jenkins = (pipelines / "Jenkinsfile").read_text()
    assert re.search(r"docker \{\s+image '[^']+'\s+args '--entrypoint='", jenkins)
    assert 'S3BENCH_HOME = "${WORKSPACE}/.s3bench"' in jenkins  # its user is not that of the image


@pytest.mark.parametrize(
    ("code", "inconclusive", "expected"),
    [("0", "true", 0), ("1", "false", 1), ("3", "false", 0), ("3", "true", 3), ("4", "false", 4), ("2", "false", 2)],
)
def test_the_verdict_decides_how_the_job_ends(tmp_path: Path, code: str, inconclusive: str, expected: int) -> None:
    runner = Runner(tmp_path, ROOT, {"fail-on-inconclusive": inconclusive})
    runner._values["steps.gate.outputs.exit-code"] = code
    assert runner.run("Verdict").returncode == expected


def test_a_gate_that_cannot_run_is_an_error_and_no_verdict(tmp_path: Path) -> None:
    runner = job(tmp_path, baseline="s5cmd", candidate="s6cmd", definitions="upload.json", options=QUICK)
    assert runner.run("Gate").returncode == 0
    assert (runner.output("verdict"), runner.output("exit-code")) == ("ERROR", "2")
    assert runner.run("Verdict").returncode == 2


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_from_an_empty_machine_two_published_versions_end_in_a_verdict_within_ten_minutes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(("git", "clone", "--quiet", ROOT, tmp_path / "clone"), check=True)
    (tmp_path / "home").mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("S3BENCH_HOME", str(tmp_path / "store"))
    inputs = {
        "baseline": "cli-crt@2.36.1",
        "candidate": "cli-crt@2.38.5",
        "select": "cp and upload and 4KB",
        "options": "--suite default --pairs 10",
        "max-time": "7m",
        "python": sys.executable,
    }
    runner = Runner(tmp_path / "job", tmp_path / "clone", inputs)
    for step in ("Install s3bench", "Install strace", "Gate"):
        done = runner.run(step)
        assert done.returncode == 0, done.stderr
    verdict = runner.output("verdict")
    assert verdict in {"PASS", "FAIL", "INCONCLUSIVE", "INVALID"}  # INVALID: the machine disturbed a control
    assert f" title={'SMALL' if 'SMALL' in done.stderr else verdict}" in done.stderr  # an annotation
    results = runner.temporary / "s3bench-gate"
    assert verdict in (results / "comment.md").read_text().replace("SMALL", "PASS")
    assert "</html>" in (results / "gate.html").read_text()


def build_context() -> list[str]:
    """What `.dockerignore` leaves of the checkout."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[0] == "**"
    return [line[1:] for line in lines if line.startswith("!")]


def test_the_image_is_built_from_what_a_wheel_needs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    targets = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*targets["packages"], *targets["force-include"], *project["project"]["license-files"]}
    assert set(build_context()) == needed | {"pyproject.toml", "hatch_build.py", "README.md"}


def test_stages_of_the_image_agree_on_paths() -> None:
    first, second = (ROOT / "Dockerfile").read_text().split("\nFROM ")[1:]
    (prefix,) = set(re.findall(r"PREFIX=(\S+)", first + second))
    assert f"COPY --from=build --chown=1000:1000 {prefix} {prefix}" in second  # so that it can install more clients
    assert "--uid 1000 s3bench" in second
    assert 'S3BENCH_HOME="$PREFIX/clients"' in first
    assert 'S3BENCH_HOME="$PREFIX/clients"' in second
    assert re.findall(r"^(?:USER|ENTRYPOINT) .*", second, flags=re.MULTILINE) == [
        "USER s3bench",
        'ENTRYPOINT ["s3bench"]',
    ]


@pytest.mark.campaign
@pytest.mark.timeout(400)
def test_what_the_image_is_built_from_installs_s3bench_and_the_aws_cli(tmp_path: Path) -> None:
    build = (ROOT / "Dockerfile").read_text().split("\nFROM ")[1]  # the stage that needs no root
    source = tmp_path / "source"
    source.mkdir()
    for name in build_context():
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, source / name)
    for command in re.findall(r"^RUN (.*)", build, flags=re.MULTILINE):
        step = command.replace("/source", str(source)).replace("python -m venv", f"{sys.executable} -m venv")
        done = subprocess.run(
            ("sh", "-ec", step),
            env={**os.environ, "PREFIX": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    listed = subprocess.run(
        (tmp_path / "bin" / "s3bench", "clients", "list"),
        env={"PATH": os.defpath, "S3BENCH_HOME": str(tmp_path / "clients")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "cli-crt" in listed.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=[path.name for path in WORKFLOWS])
def test_scripts_that_a_workflow_runs_exist_and_actions_get_inputs_that_they_have(path: Path, tmp_path: Path) -> None:
    for declared in yaml.safe_load(path.read_text())["jobs"].values():
        for step in declared["steps"]:
            if step.get("run", "").startswith("scripts/"):
                assert (ROOT / step["run"].split()[0]).is_file()
            if step.get("uses") == "./":
                Runner(tmp_path, ROOT, step["with"])


def test_actionlint_finds_nothing_in_the_workflows() -> None:
    program = shutil.which("actionlint") or shutil.which("actionlint", path=Path.home() / "go" / "bin")
    if program is None:
        pytest.skip("actionlint is missing: go install github.com/rhysd/actionlint/cmd/actionlint@latest")
    done = subprocess.run((program, *WORKFLOWS), cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
