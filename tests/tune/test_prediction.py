"""What is predicted from a model, with which range and which reservations."""

from dataclasses import replace

import pytest

from s3bench.clients.tuning.client_tuning import Habits
from s3bench.clients.tuning.parameter import MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.s3.network.model import parse_network
from s3bench.tune.prediction import INSTANCES, predict, predict_others
from s3bench.tune.setting import Setting
from s3bench.tune.transfer_model import TransferModel

LINK = parse_network("ec2:c5.large")
DOWN = Workload(action=Action.DOWNLOAD, size_bytes=256 * MIB)
SETTING = Setting.of("cli-classic", {"max_concurrent_requests": 20})
MODEL = TransferModel(
    workload=DOWN,
    network=LINK,
    habits=Habits(lookups_per_file=1.0),
    start_up_s=0.4,
    cpu_s_per_byte=2e-9,
    cpu_s_per_request=1e-3,
    overhead_s=0.01,
    surplus_s=0.002,
    serial_s_per_byte=1e-9,
    cores=1.0,
    connection_bytes_per_s=5e7,
    nic_bytes_per_s=5e8,
    error_p90=0.25,
)
MACHINE = "assuming the CPU of this machine"


def test_the_range_is_the_error_of_the_model_either_way() -> None:
    found = predict(MODEL, SETTING, DOWN, LINK)
    assert found.time_s == MODEL.predict(SETTING, DOWN, LINK)
    assert found.low_s == pytest.approx(found.time_s / 1.25)
    assert found.high_s == pytest.approx(found.time_s * 1.25)
    assert (found.network, found.setting, found.workload) == ("ec2:c5.large", SETTING, DOWN)
    assert found.reservations == ()


def test_elsewhere_the_range_is_that_of_predictions_from_one_size_and_link_to_another() -> None:
    found = predict(MODEL, SETTING, DOWN, parse_network("ec2:t2.nano"))
    assert found.high_s == pytest.approx(found.time_s * 1.43)
    assert found.low_s == pytest.approx(found.time_s / 1.43)
    poor = replace(MODEL, error_p90=0.9)
    assert predict(poor, SETTING, DOWN, parse_network("ec2:t2.nano")).high_s == pytest.approx(found.time_s * 1.9)


def test_half_and_ten_times_the_size_ten_times_the_files_and_instance_types_are_predicted() -> None:
    found = predict_others(MODEL, SETTING, DOWN, LINK)
    assert [(item.workload.size_bytes // MIB, item.workload.files, item.network) for item in found] == [
        (128, 1, "ec2:c5.large"),
        (2560, 1, "ec2:c5.large"),
        (256, 10, "ec2:c5.large"),
        *((256, 1, f"ec2:{name}") for name in INSTANCES if name != "c5.large"),
    ]
    half, ten_times, files, slow, *_, fast = (item.time_s for item in found)
    here = MODEL.predict(SETTING, DOWN, LINK)
    assert half < here < ten_times < 10 * here
    assert files > here
    assert slow > 256 * MIB / 349e6
    assert fast <= here


def test_what_was_not_measured_is_said() -> None:
    other_link = predict(MODEL, SETTING, DOWN, parse_network("ec2:t2.nano"))
    assert other_link.reservations == (MACHINE,)
    larger = predict(MODEL, SETTING, Workload(action=Action.DOWNLOAD, size_bytes=999 * MIB), LINK)
    assert larger.reservations == ()
    many = predict(MODEL, SETTING, Workload(action=Action.DOWNLOAD, size_bytes=MIB, files=9), LINK)
    assert many.reservations == ("the cost per file was not measured",)


def test_what_the_model_leaves_out_of_a_link_is_said() -> None:
    faulty = parse_network("ec2:c5.large,errors=0.1,writes=10")
    assert predict(MODEL, SETTING, DOWN, faulty).reservations == (
        MACHINE,
        "errors, resets and stalls of the link are not modelled",
        "request-rate limits are not modelled",
    )


def test_a_client_that_chooses_its_parts_is_taken_to_choose_the_same() -> None:
    model = replace(MODEL, habits=Habits(part_bytes=((None, 32 * MIB),)))
    other = Workload(action=Action.DOWNLOAD, size_bytes=512 * MIB)
    doubt = "the client chooses its part size by itself; it is assumed to be as measured here"
    assert doubt in predict(model, Setting(client="cli-crt"), other, LINK).reservations
    reported = Setting.of("cli-crt", {"multipart_chunksize": 8 * MIB})
    assert doubt not in predict(model, reported, other, LINK).reservations
