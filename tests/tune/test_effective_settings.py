"""Whether a client did as its knobs say, as the wire shows it."""

import pytest

from s3bench.clients.tuning.parameter import MIB
from s3bench.clients.tuning.workload import Action, Workload
from s3bench.results.measurement import Measurement, Wire, WireFacts, measure
from s3bench.tune.effective_settings import EffectiveSettings, ParameterNote, ignored_parameters, parameter_notes
from s3bench.tune.setting import Setting
from s3bench.tune.study import Stage, Trial
from tests.tune.trial_maker import failed

UP = Workload(action=Action.UPLOAD, size_bytes=64 * MIB)
DOWN = Workload(action=Action.DOWNLOAD, size_bytes=64 * MIB)


def run(*, parts: int = 8, part_bytes: int = 8 * MIB, in_flight: int = 8, kind: str = "PUT partNumber") -> Measurement:
    """A run of which the wire showed `parts` requests of `kind`."""
    wire = WireFacts(
        counts=Wire(
            requests=parts + 2,
            retries=0,
            connections=in_flight,
            requests_in_flight_max=in_flight,
            bytes_received=64 * MIB,
            bytes_sent=0,
            part_size_max=part_bytes,
            checksums_verified=0,
        ),
        first_request_s=0.1,
        last_response_s=0.9,
        requests_by_kind={kind: parts, "POST uploads": 1, "POST uploadId": 1},
        engine="python",
        server_cpu_s=None,
    )
    return measure(iteration=0, total_s=1.0, wire=wire)


WHOLE = run(parts=1, part_bytes=64 * MIB, in_flight=1, kind="PUT")


def asked(client: str = "cli-classic", **values: int) -> Setting:
    return Setting.of(client, values)


def reported(of: Setting, showed: Measurement, workload: Workload = UP) -> tuple[EffectiveSettings, str]:
    note = only([trial(of, showed)], workload)
    return note.obedience, note.said


def trial(of: Setting, showed: Measurement) -> Trial:
    return Trial(number=0, stage=Stage.SEARCH, block=0, setting=of, took_s=1.0, measurement=showed)


def only(trials: list[Trial], workload: Workload = UP) -> ParameterNote:
    (note,) = parameter_notes(trials, workload)
    return note


def test_parts_as_asked_are_followed_the_default_is_ignored_and_others_are_adjusted() -> None:
    of = asked(multipart_chunksize=16 * MIB)
    assert reported(of, run(part_bytes=16 * MIB)) == (
        EffectiveSettings.FOLLOWED,
        "asked 16MB, the wire showed parts of 16.0 MiB",
    )
    assert reported(of, run(part_bytes=8 * MIB)) == (
        EffectiveSettings.IGNORED,
        "asked 16MB, the wire showed parts of 8.00 MiB",
    )
    assert reported(of, run(part_bytes=17 * MIB))[0] is EffectiveSettings.ADJUSTED


def test_a_size_of_parts_shows_only_where_there_are_parts() -> None:
    assert reported(asked(multipart_chunksize=64 * MIB), run())[0] is EffectiveSettings.UNSEEN
    above = asked(multipart_chunksize=16 * MIB, multipart_threshold=128 * MIB)
    note = next(note for note in parameter_notes([trial(above, WHOLE)], UP) if note.knob == "multipart_chunksize")
    assert (note.obedience, note.said) == (EffectiveSettings.UNSEEN, "asked 16MB, the wire showed no parts")
    assert reported(asked(multipart_chunksize=16 * MIB), WHOLE)[0] is EffectiveSettings.IGNORED


def test_one_ranged_get_of_a_whole_file_is_no_split() -> None:
    of = asked("cli-crt", multipart_threshold=128 * MIB)
    assert reported(of, run(parts=1, kind="GET ranged"), DOWN)[0] is EffectiveSettings.FOLLOWED
    assert reported(of, run(parts=2, kind="GET ranged"), DOWN) == (
        EffectiveSettings.IGNORED,
        "asked 128MB, a file of 64.0 MiB went in parts",
    )


def test_more_in_flight_than_asked_is_ignored_but_for_two_control_requests() -> None:
    of = asked(max_concurrent_requests=2)
    assert reported(of, run(in_flight=4))[0] is EffectiveSettings.FOLLOWED
    assert reported(of, run(in_flight=5)) == (
        EffectiveSettings.IGNORED,
        "asked 2, the wire showed 5 requests in flight",
    )


def test_a_client_that_never_gets_to_its_concurrency_is_reported() -> None:
    of = asked(max_concurrent_requests=40)
    assert reported(of, run(parts=52, in_flight=10)) == (
        EffectiveSettings.FOLLOWED,
        "asked 40, at most 10 of 40 in flight: the client never got there",
    )
    assert reported(of, run(parts=52, in_flight=38)) == (
        EffectiveSettings.FOLLOWED,
        "asked 40, at most 38 of 40 in flight",
    )


def test_a_concurrency_beyond_the_number_of_requests_shows_nothing() -> None:
    of = asked(max_concurrent_requests=40)
    assert reported(of, run(parts=8, in_flight=8)) == (
        EffectiveSettings.UNSEEN,
        "asked 40, there were only 8 requests with object data, at most 8 in flight",
    )


def test_s5cmds_workers_each_have_their_parts_at_once() -> None:
    many = Workload(action=Action.UPLOAD, size_bytes=64 * MIB, files=20)
    of = asked("s5cmd", numworkers=4)
    assert reported(of, run(parts=40, in_flight=20), many)[0] is EffectiveSettings.FOLLOWED
    assert reported(of, run(parts=40, in_flight=23), many)[0] is EffectiveSettings.IGNORED
    assert reported(asked("s5cmd", concurrency=2), run(parts=90, in_flight=40), many)[0] is EffectiveSettings.FOLLOWED
    assert reported(asked("s5cmd", concurrency=2), run(parts=90, in_flight=43), many)[0] is EffectiveSettings.IGNORED
    small = Workload(action=Action.UPLOAD, size_bytes=1000, files=300)
    assert reported(of, run(parts=300, in_flight=7, kind="PUT"), small)[0] is EffectiveSettings.IGNORED


@pytest.mark.parametrize(
    ("threshold", "showed", "obedience"),
    [
        (128 * MIB, WHOLE, EffectiveSettings.FOLLOWED),
        (128 * MIB, run(), EffectiveSettings.IGNORED),
        (32 * MIB, run(), EffectiveSettings.FOLLOWED),
        (32 * MIB, WHOLE, EffectiveSettings.IGNORED),
    ],
)
def test_a_threshold_shows_by_whether_the_file_went_in_parts(
    threshold: int, showed: Measurement, obedience: EffectiveSettings
) -> None:
    assert reported(asked(multipart_threshold=threshold), showed)[0] is obedience


def test_a_threshold_is_not_seen_where_one_part_holds_the_file() -> None:
    of = asked("cli-crt", multipart_threshold=32 * MIB, multipart_chunksize=64 * MIB)
    whole = run(parts=1, kind="GET ranged")
    assert {note.obedience for note in parameter_notes([trial(of, whole)], DOWN)} == {EffectiveSettings.UNSEEN}


def test_parameters_of_the_clients_inside_and_runs_without_a_wire_log_are_not_seen() -> None:
    assert reported(asked(io_chunksize=MIB), run())[0] is EffectiveSettings.UNSEEN
    assert reported(asked("cli-crt", target_bandwidth=10**9 // 8), run(in_flight=10)) == (
        EffectiveSettings.UNSEEN,
        "asked 1Gb/s, at most 10 requests were in flight",
    )
    live = measure(iteration=0, total_s=1.0)
    assert reported(asked(max_concurrent_requests=2), live) == (
        EffectiveSettings.UNSEEN,
        "asked 2, not checked, because the server is not s3bench's",
    )


def test_one_run_that_shows_a_parameter_to_be_ignored_tells_for_all() -> None:
    trials = [
        trial(asked(max_concurrent_requests=40), run(parts=52, in_flight=10)),
        trial(asked(max_concurrent_requests=2), run(parts=52, in_flight=10)),
    ]
    note = only(trials)
    assert (note.client, note.knob, note.obedience) == (
        "cli-classic",
        "max_concurrent_requests",
        EffectiveSettings.IGNORED,
    )
    assert note.said == "asked 2, the wire showed 10 requests in flight"
    assert ignored_parameters(trials, UP) == {("cli-classic", "max_concurrent_requests")}


def test_a_parameter_that_makes_no_difference_on_the_wire_is_ignored() -> None:
    values = (None, 16, 32)
    parts = [
        trial(Setting.of("cli-crt", {"multipart_chunksize": size and size * MIB}), run(part_bytes=9 * MIB))
        for size in values
    ]
    assert only(parts).obedience is EffectiveSettings.IGNORED
    assert only(parts).said.endswith("parts of 9.00 MiB; so do runs that do not set it")
    never_alone = [*parts[1:], trial(asked("cli-crt", multipart_chunksize=24 * MIB), run(part_bytes=9 * MIB))]
    assert only(never_alone).obedience is EffectiveSettings.ADJUSTED
    other = [*parts, trial(asked("cli-crt", multipart_chunksize=24 * MIB), run(part_bytes=24 * MIB))]
    assert only(other).obedience is EffectiveSettings.ADJUSTED
    assert ignored_parameters(other, UP) == frozenset()


def test_other_parameters_that_differ_do_not_make_a_parameter_look_ignored() -> None:
    """Two values beside the default show parts of 9 MiB, but each at another concurrency."""
    odd = run(parts=52, part_bytes=9 * MIB, in_flight=2)
    trials = [
        trial(asked("cli-crt"), odd),
        trial(asked("cli-crt", max_concurrent_requests=20, multipart_chunksize=16 * MIB), odd),
        trial(asked("cli-crt", max_concurrent_requests=40, multipart_chunksize=32 * MIB), odd),
    ]
    notes = {note.knob: note.obedience for note in parameter_notes(trials, UP)}
    assert notes["multipart_chunksize"] is EffectiveSettings.ADJUSTED


def test_a_limit_above_what_a_client_does_by_itself_is_not_ignored() -> None:
    """The CRT opens 25 connections by itself, and takes `max_concurrent_requests` as a limit of them."""
    own = run(parts=52, in_flight=25)
    trials = [
        trial(asked("cli-crt"), own),
        *(trial(asked("cli-crt", max_concurrent_requests=n), own) for n in (40, 48)),
    ]
    assert only(trials).obedience is EffectiveSettings.FOLLOWED
    assert only(trials).said.startswith("asked 40, at most 25 of 40 in flight: the client never got there")


def test_equal_runs_are_named_once_and_of_many_only_three() -> None:
    trials = [trial(asked(max_concurrent_requests=count), run(parts=99, in_flight=count)) for count in (2, 2, 5, 9, 12)]
    assert only(trials).said == (
        "asked 2, at most 2 of 2 in flight; asked 5, at most 5 of 5 in flight; asked 9, at most 9 of 9 in flight; "
        "and 1 more"
    )


def test_failed_runs_tell_nothing() -> None:
    assert parameter_notes([failed(asked(max_concurrent_requests=2), 0)], UP) == ()
