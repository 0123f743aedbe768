"""What is to be moved, as a definition that every client can run."""

import pytest

from s3bench.clients.tuning.workload import Action, Workload
from s3bench.run.fixture import plan_tree
from s3bench.spec.command import TransferDirection, expected_local, parse_transfer
from s3bench.spec.stored import stored_objects
from s3bench.tune.workload import definition_of


@pytest.mark.parametrize("action", list(Action))
@pytest.mark.parametrize("files", [1, 3])
def test_every_client_can_run_the_definition(action: Action, files: int) -> None:
    definition = definition_of(Workload(action=action, size_bytes=5, files=files), config="[default]\n")
    transfer = parse_transfer(definition.command)
    assert transfer is not None
    assert transfer.portable
    assert transfer.direction is (TransferDirection.DOWNLOAD if action is Action.DOWNLOAD else TransferDirection.UPLOAD)


def test_one_file_is_moved_as_a_file_and_several_as_a_directory() -> None:
    one = definition_of(Workload(action=Action.UPLOAD, size_bytes=5), config="")
    several = definition_of(Workload(action=Action.UPLOAD, size_bytes=5, files=3), config="")
    assert [file.size_bytes for file in one.environment.files] == [5]
    assert "--recursive" not in one.command
    assert [(item.file_count, item.file_size_bytes) for item in several.environment.file_dirs] == [(3, 5)]
    assert "--recursive" in several.command


def test_a_sync_is_of_a_directory_even_of_one_file() -> None:
    definition = definition_of(Workload(action=Action.SYNC, size_bytes=5), config="")
    assert definition.command[:2] == ("s3", "sync")
    assert definition.environment.file_dirs


@pytest.mark.parametrize("files", [1, 3])
def test_all_objects_of_a_download_exist_before_and_land_beside_their_fixtures(files: int) -> None:
    definition = definition_of(Workload(action=Action.DOWNLOAD, size_bytes=5, files=files), config="")
    transfer = parse_transfer(definition.command)
    assert transfer is not None
    stored = stored_objects(definition)
    assert len(stored) == files
    landed = {expected_local(transfer, item.key) for item in stored}
    assert None not in landed
    assert len(landed) == files
    assert not landed & {item.file for item in stored}


def test_the_config_is_that_of_the_definition() -> None:
    config = "[default]\ns3 =\n    multipart_chunksize = 16MB\n"
    assert definition_of(Workload(action=Action.UPLOAD, size_bytes=5), config=config).environment.config == config


@pytest.mark.parametrize("action", list(Action))
def test_files_of_several_sizes_are_moved_with_these_sizes(action: Action) -> None:
    workload = Workload(action=action, size_bytes=9, files=3, sizes=((5, 2), (9, 1)))
    definition = definition_of(workload, config="")
    sizes = [content.size_bytes for _, content in plan_tree(definition.environment).files()]
    assert sizes == [5, 9, 5]
    assert "--recursive" in definition.command or action is Action.SYNC
