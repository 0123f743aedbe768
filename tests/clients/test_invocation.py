"""How clients are started: what is sealed off, what selects the engine, what points at the endpoint."""

from pathlib import Path

import pytest

from s3bench.clients.awsconfig import block_settings
from s3bench.clients.client import FoundClient
from s3bench.clients.environment import EndpointFacts, Sandbox, own_credentials
from s3bench.clients.invocation import invocation
from s3bench.clients.launch import Invocation
from s3bench.clients.registry import known_clients
from s3bench.errors import BadInput
from s3bench.spec.command import parse_transfer
from s3bench.spec.definition import Definition, Environment, FixtureDir

ENDPOINT = EndpointFacts(url="http://127.0.0.1:9000")
SANDBOX = Sandbox(home=Path("/box/home"), temporary=Path("/box/tmp"), work=Path("/box/work"), probe_file=Path("/box/m"))
BARE = Sandbox(home=Path("/box/home"), temporary=Path("/box/tmp"), work=Path("/box/work"))
CP = ("s3", "cp", "file", "s3://bucket/key")


def client(kind: str, version: str = "2.38.5", site: Path | None = None) -> FoundClient:
    return FoundClient(kind=kind, version=version, executable=Path("/bin/program"), site=site)


def invoke(
    found: FoundClient,
    command: tuple[str, ...] = CP,
    *,
    config: str = "[default]",
    endpoint: EndpointFacts = ENDPOINT,
    sandbox: Sandbox = SANDBOX,
) -> Invocation:
    definition = Definition(name="x", command=command, environment=Environment(config=config))
    return invocation(found, definition, parse_transfer(command), endpoint, sandbox)


@pytest.mark.parametrize(
    ("kind", "version", "word"),
    [("cli-classic", "2.38.5", "classic"), ("cli-classic", "2.12.7", "default"), ("cli-crt", "2.38.5", "crt"),
     ("cli-classic", "1.46.2", None), ("cli", "2.38.5", None)],
)  # fmt: skip
def test_the_config_selects_the_engine(kind: str, version: str, word: str | None) -> None:
    settings = block_settings(invoke(client(kind, version)).config_text, "s3")
    assert settings.get("preferred_transfer_client") == word
    assert settings["addressing_style"] == "path"


def test_the_engine_asked_for_wins_over_the_config_and_the_rest_of_it_stays() -> None:
    config = "[default]\ns3 =\n  preferred_transfer_client = crt\n  multipart_chunksize = 16MB\n"
    assert block_settings(invoke(client("cli-classic"), config=config).config_text, "s3") == {
        "preferred_transfer_client": "classic",
        "multipart_chunksize": "16MB",
        "addressing_style": "path",
    }
    assert block_settings(invoke(client("cli"), config=config).config_text, "s3")["preferred_transfer_client"] == "crt"


@pytest.mark.parametrize("command", [CP, ("s3", "cp", "help", "s3://b/help"), ("s3", "cp", "s3://b/k", "help")])
def test_a_command_is_pointed_at_the_endpoint(command: tuple[str, ...]) -> None:
    assert invoke(client("cli-crt"), command).argv == (
        "/bin/program", *command, "--endpoint-url", "http://127.0.0.1:9000",
    )  # fmt: skip


def test_a_client_is_told_which_directories_the_definition_makes() -> None:
    command = ("s3", "cp", "s3://b/k", "landed")
    landed = Environment(file_dirs=(FixtureDir(name="landed", file_count=1, file_size_bytes=1),))
    for environment, verb in ((landed, "copy"), (Environment(), "copyto")):
        definition = Definition(name="x", command=command, environment=environment)
        call = invocation(client("rclone"), definition, parse_transfer(command), ENDPOINT, BARE)
        assert call.argv[1] == verb


@pytest.mark.parametrize("command", [("--version",), ("help",), ("s3", "help"), ("s3", "cp", "help")])
def test_a_command_that_takes_no_endpoint_is_left_alone(command: tuple[str, ...]) -> None:
    call = invoke(client("cli-classic"), command)
    assert call.argv == ("/bin/program", *command)
    assert call.env["AWS_ENDPOINT_URL"] == "http://127.0.0.1:9000"


def test_the_probe_is_a_plug_in_of_v2() -> None:
    text = invoke(client("cli-classic")).config_text
    assert "[plugins]\ncli_legacy_plugin_path = " in text
    assert "s3bench = s3bench_probe.plugin" in text
    assert "PYTHONPATH" not in invoke(client("cli-classic")).env


def test_the_probe_reaches_v1_by_its_path() -> None:
    call = invoke(client("cli-classic", "1.46.2", Path("/site")))
    assert "cli_legacy_plugin_path" not in call.config_text
    assert call.env["PYTHONPATH"].split(":")[0] == "/site"
    assert Path(call.env["PYTHONPATH"].split(":")[1], "s3bench_probe", "plugin.py").is_file()


def test_without_a_probe_file_nothing_of_ours_runs_in_the_client() -> None:
    call = invoke(client("cli-classic"), sandbox=BARE)
    assert "plugins" not in call.config_text
    assert "S3BENCH_PROBE_FILE" not in call.env
    assert "PYTHONPATH" not in invoke(client("cli-classic", "1.46.2"), sandbox=BARE).env


def test_nothing_of_the_user_reaches_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ACCESS_KEY_ID": "own", "AWS_SECRET_ACCESS_KEY": "own", "AWS_SESSION_TOKEN": "own", "AWS_PROFILE": "own",
        "HTTP_PROXY": "http://own", "https_proxy": "http://own", "PYTHONPATH": "/own", "LD_PRELOAD": "own",
        "HOME": "/own", "AWS_CONFIG_FILE": "/own", "AWS_ENDPOINT_URL": "http://own",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    for kind in known_clients():
        env = invoke(client(kind)).env
        assert not any("own" in value for value in env.values() if value != "unknown")
        assert env["AWS_EC2_METADATA_DISABLED"] == "true"
        assert "FAKE" in env["AWS_ACCESS_KEY_ID"]
        assert (env["HOME"], env["TMPDIR"]) == ("/box/home", "/box/tmp")
        assert env["AWS_CONFIG_FILE"] == "/box/home/.aws/config"
        assert "AWS_CA_BUNDLE" not in env


def test_over_tls_every_client_learns_the_certificate_authority() -> None:
    endpoint = EndpointFacts(url="https://127.0.0.1:9000", ca_bundle=Path("/ca.pem"))
    for kind in known_clients():
        call = invoke(client(kind), endpoint=endpoint)
        assert call.env["SSL_CERT_FILE"] == "/ca.pem"
        assert call.env.get("AWS_CA_BUNDLE", call.argv[-1]) == "/ca.pem"


def test_a_live_endpoint_gets_the_users_own_credentials_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID", raising=False)
    monkeypatch.setenv("AWS_PROFILE", "mine")
    (tmp_path / "config").write_text("[profile mine]\nregion = eu-west-1\n")
    (tmp_path / "credentials").write_text("[mine]\naws_access_key_id = MINE\naws_secret_access_key = very-secret\n")
    call = invoke(client("cli-classic"), endpoint=EndpointFacts(url="https://s3.example", live=True))
    assert call.env["AWS_ACCESS_KEY_ID"] == "MINE"
    assert call.env["AWS_SECRET_ACCESS_KEY"] == "very-secret"
    assert call.env["AWS_REGION"] == "eu-west-1"
    assert "AWS_PROFILE" not in call.env
    assert "very-secret" not in call.config_text + repr(call) + " ".join(call.argv)
    assert "very-secret" not in repr(own_credentials())


def test_a_live_endpoint_without_credentials_says_what_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(BadInput, match="needs credentials"):
        own_credentials()


def test_a_live_endpoint_keeps_the_addressing_of_the_definition() -> None:
    config = "[default]\ns3 =\n  addressing_style = virtual\n"
    endpoint = EndpointFacts(url="https://s3.example", live=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ACCESS_KEY_ID", "a")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "b")
        text = invoke(client("cli-classic"), config=config, endpoint=endpoint).config_text
    assert block_settings(text, "s3")["addressing_style"] == "virtual"
    assert block_settings(invoke(client("cli-classic"), config=config).config_text, "s3")["addressing_style"] == "path"


TWO_BLOCKS = "[default]\ns3 =\n  max_concurrent_requests = 4\ns5cmd =\n  concurrency = 9\n  part_size = 64MB\n"


def test_s5cmd_obeys_its_own_block_before_that_of_s3() -> None:
    argv = invoke(client("s5cmd"), config=TWO_BLOCKS).argv
    assert argv[5:] == ("--numworkers", "4", "cp", "--part-size", "64", "--concurrency", "9", "file", "s3://bucket/key")


def test_the_others_know_nothing_of_the_s5cmd_block() -> None:
    assert '"settings":{"max_concurrent_requests":4}' in invoke(client("boto3-classic"), config=TWO_BLOCKS).argv[-1]
    text = invoke(client("cli-classic"), config=TWO_BLOCKS).config_text
    assert block_settings(text, "s5cmd") == {"concurrency": "9", "part_size": "64MB"}


def test_a_key_that_the_s5cmd_block_does_not_know_is_bad_input() -> None:
    with pytest.raises(BadInput, match="`part-size` is not a setting of the block `s5cmd`"):
        invoke(client("s5cmd"), config=TWO_BLOCKS.replace("part_size", "part-size"))


@pytest.mark.parametrize("kind", ["boto3-classic", "boto3-crt", "crt-python", "s5cmd"])
def test_other_clients_run_transfers_alone(kind: str) -> None:
    assert invoke(client(kind)).argv[0] == "/bin/program"
    with pytest.raises(BadInput, match="cannot run this command"):
        invoke(client(kind), ("sts", "get-caller-identity"))
    with pytest.raises(BadInput, match="cannot run this command"):
        invoke(client(kind), (*CP, "--acl", "private"))


def test_a_profile_that_does_not_exist_is_bad_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_PROFILE", "nobodys")
    with pytest.raises(BadInput, match="credentials cannot be used") as caught:
        own_credentials()
    assert "nobodys" in caught.value.why
