"""Editing AWS config text: what the clients then read is what was asked for, and all else is as it was."""

import configparser
from pathlib import Path

import pytest
from botocore.configloader import raw_config_parse
from hypothesis import given
from hypothesis import strategies as st

from s3bench.clients.awsconfig import block_settings, with_section, with_settings

REFERENCE = "[default]\ns3 =\n preferred_transfer_client = crt"


def read_as_clients_do(text: str, profile: str = "default") -> dict[str, str]:
    sections = configparser.RawConfigParser(default_section="")
    sections.read_string(text)
    if not sections.has_option(profile, "s3"):
        return {}
    lines = [line for line in sections.get(profile, "s3").splitlines() if "=" in line]
    return {key.strip(): value.strip() for key, _, value in (line.partition("=") for line in lines)}


def test_a_setting_replaces_the_one_that_is_there() -> None:
    text = with_settings(REFERENCE, {"preferred_transfer_client": "classic"})
    assert text == "[default]\ns3 =\n preferred_transfer_client = classic\n"


def test_a_new_setting_joins_the_block_with_its_indentation() -> None:
    text = with_settings(REFERENCE, {"addressing_style": "path"})
    assert text == "[default]\ns3 =\n preferred_transfer_client = crt\n addressing_style = path\n"


def test_a_block_is_made_where_there_is_none() -> None:
    text = with_settings("[default]\nregion = eu-west-1\n", {"addressing_style": "path"})
    assert text == "[default]\ns3 =\n    addressing_style = path\nregion = eu-west-1\n"


def test_a_profile_is_made_where_there_is_none() -> None:
    assert with_settings("", {"a": "1"}) == "[default]\ns3 =\n    a = 1\n"
    assert with_settings("[default]", {"a": "1"}, profile="x") == "[default]\n[profile x]\ns3 =\n    a = 1\n"


def test_the_block_of_another_profile_stays() -> None:
    text = "[profile other]\ns3 =\n  multipart_chunksize = 5MB\n[default]\ns3 =\n  multipart_chunksize = 8MB\n"
    edited = with_settings(text, {"multipart_chunksize": "16MB"})
    assert block_settings(edited, "s3", profile="other") == {"multipart_chunksize": "5MB"}
    assert block_settings(edited, "s3") == {"multipart_chunksize": "16MB"}


def test_each_block_has_its_own_settings_and_editing_one_leaves_the_other() -> None:
    text = "[default]\ns5cmd =\n  numworkers = 8\ns3 =\n  multipart_chunksize = 5MB\n"
    edited = with_settings(text, {"multipart_chunksize": "16MB", "numworkers": "1"})
    assert block_settings(edited, "s5cmd") == {"numworkers": "8"}
    assert block_settings(edited, "s3") == {"multipart_chunksize": "16MB", "numworkers": "1"}
    assert block_settings(edited, "none") == {}


def test_a_key_given_twice_is_left_once() -> None:
    text = with_settings("[default]\ns3 =\n  a = 1\n  a = 2\n", {"a": "3"})
    assert text == "[default]\ns3 =\n  a = 3\n"


def test_comments_and_the_keys_after_the_block_stay() -> None:
    text = "# mine\n[default]\ns3 =\n  # tuned\n  max_concurrent_requests = 20\n\nregion = us-east-1\n"
    edited = with_settings(text, {"addressing_style": "path"})
    assert edited == text.replace("= 20\n", "= 20\n  addressing_style = path\n")


@pytest.mark.parametrize("comment", ["# parts", "; parts", "  # parts", "#", ""])
@pytest.mark.parametrize("head", ["s3 =", "S3 =", "s3="])
def test_a_comment_in_a_block_ends_it_no_sooner_than_for_botocore(head: str, comment: str, tmp_path: Path) -> None:
    text = f"[default]\n{head}\n{comment}\n  io_chunksize = 1MB\n{comment}\n  multipart_chunksize = 16MB\n"
    edited = with_settings(text, {"multipart_chunksize": "32MB", "addressing_style": "path"})
    expected = {"io_chunksize": "1MB", "multipart_chunksize": "32MB", "addressing_style": "path"}
    (tmp_path / "config").write_text(edited)
    assert raw_config_parse(str(tmp_path / "config"))["default"]["s3"] == expected
    assert block_settings(edited, "s3") == expected
    assert block_settings(text, "s3") == {"io_chunksize": "1MB", "multipart_chunksize": "16MB"}


def test_a_section_is_added_once_and_extended_after() -> None:
    text = with_section("[default]", "plugins", {"probe": "module"})
    assert text == "[default]\n[plugins]\nprobe = module\n"
    assert with_section(text, "plugins", {"other": "x"}) == "[default]\n[plugins]\nother = x\nprobe = module\n"


KEYS = st.sampled_from(["preferred_transfer_client", "multipart_chunksize", "max_concurrent_requests", "io_chunksize"])
VALUES = st.sampled_from(["crt", "8MB", "10", "auto"])
BLOCKS = st.dictionaries(KEYS, VALUES, max_size=4)


@st.composite
def configs(draw: st.DrawFn) -> str:
    indent = draw(st.sampled_from([" ", "  ", "\t", "    "]))
    block = draw(BLOCKS)
    before = draw(st.sampled_from(["", "region = us-east-1\n", "# a comment\n\n"]))
    after = draw(st.sampled_from(["", "\n", "output = json\n", "[profile x]\nregion = eu-west-1\n"]))
    comment = draw(st.sampled_from(["", "# parts\n", f"{indent}; parts\n"]))
    lines = "".join(f"{comment}{indent}{key} = {value}\n" for key, value in block.items())
    head = draw(st.sampled_from(["s3 =", "S3 ="]))
    return f"[default]\n{before}" + (f"{head}\n{lines}" if block else "") + after


@given(text=configs(), settings=BLOCKS)
def test_clients_read_the_settings_and_everything_that_was_not_set(text: str, settings: dict[str, str]) -> None:
    edited = with_settings(text, settings)
    assert read_as_clients_do(edited) == {**read_as_clients_do(text), **settings}
    assert block_settings(edited, "s3") == read_as_clients_do(edited)
    assert with_settings(edited, settings) == edited


@pytest.mark.parametrize("heading", ["[default]", "[ default ]", "[profile default]"])
def test_the_default_profile_is_known_by_each_of_its_headings(heading: str) -> None:
    assert block_settings(f"{heading}\ns3 =\n  a = 1\n", "s3") == {"a": "1"}
