"""Load profiles in our own form: what is read, what is refused, and the way back."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import BadDefinitions, BadInput
from s3bench.load.operation import MIXABLE, WRITING, OperationKind
from s3bench.load.profile.defaults import DEFAULT_JOB
from s3bench.load.profile.file import parse_profile, read_profile, render_profile
from s3bench.load.profile.placement import Addressing, PlacedProfile, Placement
from s3bench.load.profile.profile import (
    ZIPF_OBJECTS_MAX,
    Arrivals,
    Job,
    KeyDistribution,
    Layout,
    Manner,
    Payload,
    PayloadKind,
    Phase,
    Profile,
    Rate,
    RateChange,
    Share,
)
from s3bench.load.profile.sizes import Sizes, fixed, parse_sizes

WHOLE = """
endpoint_url: [http://127.0.0.1:9000, http://127.0.0.1:9001]
bucket: data
region: eu-west-1
addressing: virtual
tls_no_verify: true
keepalive: false
payload: random
compressible: 2.5
sign_payload: true
checksum: true
verify: false
retries: 3
backoff: 100ms
timeout: 5s
idle_timeout: 4s
connect_timeout: 1500ms
workers: 4
loops: 2
max_error_rate: 1%
layout: worker
phases:
- name: fill
  operation: put
  sizes: uniform:1KiB-1MiB
  operations: 500
- name: storm
  duration: 5m
  warmup: 10
  ramp: 5s
  stable: true
  dimensions: [{kind: storm}]
  jobs:
  - name: mixed
    mix: {get: 70, put: 30}
    sizes: "4KiB:70,1MiB:30"
    rate: 500
    arrivals: constant
    threads: 64
    keys: zipf
    zipf_exponent: 1.1
    objects: 10000
  - name: ranges
    operation: range
    range: 64KiB
    sizes: 8MiB
    list_keys: 7
    read_bodies: false
  - name: rewrites
    mix: {put: 1}
    overwrite: true
  - name: uploads
    operation: multipart
    sizes: 64MiB
    part_size: 16MiB
    keys: sequential
"""


def problems_of(text: str) -> list[str]:
    with pytest.raises(BadDefinitions) as caught:
        parse_profile(text, "load.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_every_key_reaches_the_profile() -> None:
    placed = parse_profile(WHOLE, "load.yaml")
    jobs = (
        Job(
            name="mixed",
            mix=(Share(kind=OperationKind.GET, weight=70.0), Share(kind=OperationKind.PUT, weight=30.0)),
            sizes=parse_sizes("4KiB:70,1MiB:30"),
            threads=64,
            rate=Rate(per_s=500.0, arrivals=Arrivals.CONSTANT),
            objects=10_000,
            keys=KeyDistribution.ZIPF,
            zipf_exponent=1.1,
        ),
        Job(
            name="ranges",
            mix=(Share(kind=OperationKind.RANGE),),
            sizes=parse_sizes("8MiB"),
            threads=16,
            range_bytes=65_536,
            list_keys=7,
            reads_bodies=False,
        ),
        Job(
            name="rewrites", mix=(Share(kind=OperationKind.PUT),), sizes=parse_sizes("1MiB"), threads=16, overwrite=True
        ),
        Job(
            name="uploads",
            mix=(Share(kind=OperationKind.MULTIPART),),
            sizes=parse_sizes("64MiB"),
            threads=16,
            part_bytes=16 * 1024**2,
            keys=KeyDistribution.SEQUENTIAL,
        ),
    )
    fill = Job(mix=(Share(kind=OperationKind.PUT),), sizes=parse_sizes("uniform:1KiB-1MiB"), threads=16, operations=500)
    assert placed.profile == Profile(
        phases=(
            Phase(name="fill", jobs=(fill,)),
            Phase(
                name="storm",
                jobs=jobs,
                duration_s=300.0,
                warmup_s=10.0,
                ramp_s=5.0,
                stable=True,
                dimensions=({"kind": "storm"},),
            ),
        ),
        manner=Manner(
            keep_alive=False,
            signs_payload=True,
            verify=False,
            checksum=True,
            retries=3,
            backoff_s=0.1,
            connect_timeout_s=1.5,
            timeout_s=5.0,
            idle_timeout_s=4.0,
        ),
        payload=Payload(compressible=2.5),
        layout=Layout.WORKER,
        loops=2,
        max_error_rate=0.01,
    )
    assert placed.placement == Placement(
        endpoint_urls=("http://127.0.0.1:9000", "http://127.0.0.1:9001"),
        bucket="data",
        region="eu-west-1",
        addressing=Addressing.VIRTUAL,
        tls_no_verify=True,
        workers=4,
    )


def test_a_profile_of_one_job_needs_neither_phases_nor_jobs() -> None:
    short = parse_profile("name: reads\nduration: 10s\noperation: get\nthreads: 4\n", "load.yaml")
    long = parse_profile("phases: [{name: reads, duration: 10, jobs: [{mix: {get: 1}, threads: 4}]}]", "load.yaml")
    assert short == long
    assert short.profile.phases[0].name == "reads"


def test_an_empty_object_is_the_default_workload() -> None:
    [phase] = parse_profile("{}", "load.json").profile.phases
    [job] = phase.jobs
    assert (phase.duration_s, job.mix, job.threads, str(job.sizes)) == (60.0, DEFAULT_JOB.mix, 16, "1MiB")


def test_a_phase_that_ends_by_itself_has_no_duration_and_one_that_does_not_has_a_minute() -> None:
    assert parse_profile("operations: 5", "a").profile.phases[0].duration_s is None
    mixed = "jobs: [{name: a, operations: 5}, {name: b}]"
    assert parse_profile(mixed, "a").profile.phases[0].duration_s == 60.0


def test_jobs_and_phases_without_names_get_them_where_there_are_several() -> None:
    text = "phases: [{jobs: [{operation: get}, {operation: put}]}, {operation: head}]"
    profile = parse_profile(text, "a").profile
    assert [phase.name for phase in profile.phases] == ["phase1", "phase2"]
    assert [job.name for job in profile.phases[0].jobs] == ["job1", "job2"]


def test_json_and_yaml_say_the_same() -> None:
    as_json = '{"operation": "get", "duration": 10, "sizes": "1MiB", "endpoint_url": "http://a", "bucket": "b"}'
    as_yaml = "operation: get\nduration: 10s\nsizes: 1MiB\nendpoint_url: http://a\nbucket: b"
    assert parse_profile(as_json, "a") == parse_profile(as_yaml, "a") == parse_profile("\t\n" + as_json, "a")


def test_one_url_needs_no_list() -> None:
    assert parse_profile("endpoint_url: http://a", "a").placement.endpoint_urls == ("http://a",)


def test_a_tab_is_white_space_in_json() -> None:
    assert parse_profile('{\n\t"operations":\t5\n}', "a").profile.phases[0].jobs[0].operations == 5


def test_anchors_and_aliases_of_yaml_work() -> None:
    text = "phases:\n- name: a\n  jobs: &jobs [{operation: get}]\n- name: b\n  jobs: *jobs\n"
    first, second = parse_profile(text, "a").profile.phases
    assert first.jobs == second.jobs


WRONG: dict[str, list[str]] = {
    "buckett: x": ["$.buckett (line 1): is an unknown key; did you mean `bucket`?"],
    "endpoint_url: [ftp://x]": ["$.endpoint_url[0] (line 1): is "],
    "duration: soon": ['$.duration (line 1): is "soon", which is not a duration; write it like 20ms'],
    "duration: 0": ["$.duration (line 1): is "],
    "threads: 0": ["$.threads (line 1): is 0, below the minimum of 1"],
    "threads: 1.5": ["$.threads (line 1): is the number 1.5, not a whole number"],
    "threads: .inf": ["$.threads (line 1): "],
    "rate: .nan": ["$.rate (line 1): "],
    "sizes: [1]": ["$.sizes (line 1): is a list, not sizes"],
    "sizes: 1 furlong": ["$.sizes (line 1): "],
    "operation: gett": ['$.operation (line 1): is "gett", which is not an operation; did you mean `get`?'],
    "mix: {}": ["$.mix (line 1): is an object, not an object of operations and weights; write e.g. {get: 70"],
    "mix:\n  get: 1\n  putt: 2": ['$.mix.putt (line 3): is "putt", which is not an operation; did you mean `put`?'],
    "mix: {get: 0}": ["$.mix.get (line 1): has no weight"],
    "mix: {get: 1}\noperation: get": ["$.operation (line 2): cannot be combined with `mix`"],
    "arrivals: constant": ["$.arrivals (line 1): needs `rate`"],
    "zipf_exponent: 2": ["$.zipf_exponent (line 1): needs `keys: zipf`"],
    "keys: zip": ['$.keys (line 1): is "zip", which is not a key distribution; did you mean `zipf`?'],
    "operation: range": ["$.range (line 1): is missing"],
    "range: 1KiB": ["$.range (line 1): needs the operation range"],
    "operation: range\nrange: 2MiB": ["$.range (line 2): is 2.00 MiB, more than any object has"],
    "part_size: 1MiB": ['$.part_size (line 1): is "1MiB", and S3 takes parts of 5 MiB to 5 GiB'],
    "operation: multipart\nsizes: 1TiB": ["$.part_size (line 1): makes more than 10000 parts"],
    "operation: put\nsizes: 6GiB": ["$.sizes (line 2): has objects of 6.00 GiB, and one PUT takes 5 GiB at most"],
    "operation: get\noverwrite: true": ["$.overwrite (line 2): needs put"],
    "overwrite: true": ["$.overwrite (line 1): cannot be combined with delete"],
    "mix: {get: 1, delete: 1}": ["$.mix (line 1): has delete and no operation that writes"],
    "mix: {put: 1, copy: 0.5, multipart: 0.5, delete: 3}": [
        "$.mix (line 1): deletes more often (weight 3) than it writes objects to delete (2); give delete 2 or less"
    ],
    "rate: 5\nrates: [{after: 0s, rate: 5}]": ["$.rates (line 2): cannot be combined with `rate`"],
    "popular_sizes: [4KiB]": ["$.popular_sizes (line 1): needs `keys: zipf`"],
    "keys: zipf\npopular_sizes: [4KiB, x]": ['$.popular_sizes[1] (line 2): is "x", which is not a size'],
    "rates: []": ["$.rates (line 1): is empty"],
    "rates: [{after: 1s, rate: 5}]": ["$.rates (line 1): begins after the start of the phase"],
    "rates: [{after: 0, rate: 0}]": ["$.rates (line 1): plans no operation"],
    "rates: [{after: 0, rate: 1}, {after: 0, rate: 2}]": ["$.rates (line 1): has a rate after 0 s behind one after 0"],
    "rates: [{after: 0}]": ["$.rates[0].rate (line 1): is missing"],
    "rates: [5]": ["$.rates[0] (line 1): is the number 5, not a time and a rate"],
    "ramp: 2s\nrates: [{after: 0, rate: 1}, {after: 9, rate: 2}]": ["$.ramp (line 1): cannot be combined with `rates`"],
    "warmup: 60": ["$.warmup (line 1): takes 60 s of the phase's 60 s"],
    "duration: 1.8s\nwarmup: 1.5s": [
        "$.warmup (line 2): of 1.5 s leaves nothing to measure: measuring begins at the next"
    ],
    "ramp: 2m": ["$.ramp (line 1): takes 120 s"],
    "operations: 5\nstable: true": ["$.stable (line 2): needs a time limit"],
    "payload: zero\ncompressible: 2": ["$.compressible (line 2): needs random data"],
    "ca_bundle: f\ntls_no_verify: true": ["$.ca_bundle (line 1): cannot be combined with `tls_no_verify`"],
    "max_error_rate: 2": ['$.max_error_rate (line 1): is "2", which is more than the whole'],
    "verify: 1": ["$.verify (line 1): is the number 1, not true or false"],
    "phases: []": ["$.phases (line 1): is empty"],
    "phases: [{}]\nthreads: 4": ["$.threads (line 2): cannot be combined with `phases`"],
    "jobs: [{}]\nthreads: 4": ["$.threads (line 2): cannot be combined with `jobs`"],
    "jobs: [{name: a}, {name: a}]": ["$.jobs[1].name (line 1): is that of another job"],
    "phases: [{name: a}, {name: a}]": ["$.phases[1].name (line 1): is that of another phase"],
    "dimensions: [{a: b, c: d}]": ["$.dimensions[0] (line 1): is an object, not an object of one name"],
    "threads: 1\nthreads: 2": ["$.threads (line 2): is given 2 times in one object"],
    '{"threads": 0}': ["$.threads: is 0, below the minimum"],
    "- a": ["$ (line 1): is a list, not a profile"],
    "": ["$: is null, not a profile"],
    "[1,": ["$: is not YAML: line 1, column 4"],
    '{"a": ': ["$: is not JSON: line 1, column 7"],
    "a: *b": ["$: is not YAML: line 1, column 4: found undefined alias"],
    "a: &x [*x]": ["$: is too large, or its aliases go round in circles"],
    "a: \0": ["$: is not YAML: unacceptable character"],
    "? [a]\n: b": ['$["a key that is not a plain word"] (line 1): is an unknown key'],
}


@pytest.mark.parametrize(
    "mix",
    ["{delete: 1}", "{put: 1, delete: 1}", "{put: 0.7, copy: 0.1, delete: 0.8}", "{get: 9, multipart: 2, delete: 2}"],
)
def test_a_mix_may_delete_as_often_as_it_writes(mix: str) -> None:
    assert parse_profile(f"mix: {mix}", "written").profile.phases


@pytest.mark.parametrize("text", WRONG)
def test_a_mistake_is_reported_with_its_path_its_line_and_what_would_be_right(text: str) -> None:
    found = problems_of(text)
    lines = [start for start in WRONG[text] if not any(problem.startswith(start) for problem in found)]
    assert (lines, found[1:] if "threads: 1\n" not in text else []) == ([], [])
    assert all(problem.partition("; ")[2] for problem in found)


def test_all_mistakes_are_reported_at_once_in_the_order_of_the_file() -> None:
    found = problems_of(
        "retries: -1\nphases:\n- duration: 5 parsecs\n  operation: put\n- jobs:\n  - threads: 0\n    range: 1KiB\n"
        "  - sizes: none\n    keys: 5\nloops: 0\n"
    )
    assert [problem.partition(" (")[0] for problem in found] == [
        "$.retries",
        "$.phases[0].duration",
        "$.phases[1].jobs[0].threads",
        "$.phases[1].jobs[1].sizes",
        "$.phases[1].jobs[1].keys",
        "$.loops",
    ]


def test_aliases_cannot_multiply_a_short_text_without_end() -> None:
    text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"a{depth}: &a{depth} [{', '.join([f'*a{depth - 1}'] * 10)}]\n" for depth in range(1, 9)
    )
    assert problems_of(text) == [
        "$: is too large, or its aliases go round in circles; write it without aliases",
    ]


def test_tags_of_yaml_make_no_python_objects() -> None:
    [called] = problems_of("operation: !!python/object/apply:os.getcwd []")
    [named] = problems_of("operation: !!python/name:os.system x")
    assert called.startswith("$.operation (line 1): is a list")
    assert named.startswith('$.operation (line 1): is "x"')


def test_a_file_that_cannot_be_read_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_profile(tmp_path / "none.yaml")
    (tmp_path / "latin.yaml").write_bytes(b"bucket: \xe9")
    with pytest.raises(BadDefinitions, match="is not UTF-8: byte 8 is 0xe9"):
        read_profile(tmp_path / "latin.yaml")


def test_a_byte_order_mark_is_no_mistake(tmp_path: Path) -> None:
    (tmp_path / "bom.yaml").write_text("bucket: b", encoding="utf-8-sig")
    assert read_profile(tmp_path / "bom.yaml").placement.bucket == "b"


# The way back.

LABELS = st.text(st.characters(categories=("L", "N", "P", "S")), min_size=1, max_size=12)
SECONDS = st.floats(min_value=1e-3, max_value=86_400)
SIZES = st.one_of(
    st.integers(1, 5 * 1024**3).map(fixed),
    st.integers(1, 5 * 1024**3).map(lambda size: Sizes(text=str(size), slots=(size,))),
    st.sampled_from(["4KiB:70,1MiB:30", "uniform:1KiB-1MiB", "lognormal:64KiB,1.5", "1M"]).map(parse_sizes),
)
WEIGHTS = st.floats(min_value=1e-6, max_value=1e6)


RATES = st.builds(Rate, per_s=st.floats(1e-3, 1e7), arrivals=st.sampled_from(Arrivals))
CHANGING_RATES = st.builds(
    lambda per_s, times_s, arrivals: Rate(
        per_s=0.0, arrivals=arrivals, changes=tuple(RateChange(after_s=at_s, per_s=per_s) for at_s in sorted(times_s))
    ),
    st.floats(1e-3, 1e7),
    st.sets(SECONDS, min_size=1, max_size=4),
    st.sampled_from(Arrivals),
)


@st.composite
def jobs(draw: st.DrawFn, *, name: str) -> Job:
    kinds = draw(st.lists(st.sampled_from(MIXABLE), min_size=1, unique=True))
    if OperationKind.DELETE in kinds and len(kinds) > 1 and not WRITING & set(kinds):
        kinds.append(OperationKind.PUT)
    weights = {kind: draw(WEIGHTS) for kind in kinds}
    if OperationKind.DELETE in kinds and len(kinds) > 1:
        writes = sum(weight for kind, weight in weights.items() if kind in WRITING)
        weights[OperationKind.DELETE] = min(weights[OperationKind.DELETE], writes)
    sizes = draw(SIZES)
    keys = draw(st.sampled_from(KeyDistribution))
    return Job(
        name=name,
        mix=tuple(Share(kind=kind, weight=weight) for kind, weight in weights.items()),
        sizes=sizes,
        threads=draw(st.integers(1, 100_000)),
        rate=draw(st.none() | RATES | CHANGING_RATES),
        operations=draw(st.none() | st.integers(1, 10**12)),
        objects=draw(st.none() | st.integers(1, ZIPF_OBJECTS_MAX if keys is KeyDistribution.ZIPF else 10**12)),
        keys=keys,
        zipf_exponent=draw(st.floats(0.1, 10)) if keys is KeyDistribution.ZIPF else 1.0,
        popular_sizes=draw(st.lists(st.integers(1, 10**12)).map(tuple)) if keys is KeyDistribution.ZIPF else (),
        range_bytes=draw(st.integers(1, sizes.size_bytes_max)) if OperationKind.RANGE in kinds else None,
        part_bytes=draw(st.integers(5 * 1024**2, 5 * 1024**3)),
        list_keys=draw(st.integers(1, 1000)),
        overwrite=draw(st.booleans()) and OperationKind.PUT in kinds and OperationKind.DELETE not in kinds,
        reads_bodies=draw(st.booleans()),
    )


@st.composite
def phases(draw: st.DrawFn, *, name: str) -> Phase:
    names = draw(st.lists(LABELS, min_size=1, max_size=3, unique=True))
    own = tuple(draw(jobs(name=job)) for job in names)
    ends = all(job.operations is not None for job in own)
    duration_s = draw(st.none() | SECONDS) if ends else draw(SECONDS)
    changes = any(job.rate is not None and job.rate.changes for job in own)
    return Phase(
        name=name,
        jobs=own,
        duration_s=duration_s,
        warmup_s=0.0 if duration_s is None else draw(st.floats(0, max(0, math.ceil(duration_s) - 1))),
        ramp_s=0.0 if duration_s is None or changes else duration_s * draw(st.floats(0, 0.9)),
        stable=duration_s is not None and draw(st.booleans()),
        dimensions=tuple(draw(st.lists(st.dictionaries(LABELS, LABELS, min_size=1, max_size=1), max_size=2))),
    )


@st.composite
def placeds(draw: st.DrawFn) -> PlacedProfile:
    names = draw(st.lists(LABELS, min_size=1, max_size=3, unique=True))
    tls_no_verify = draw(st.booleans())
    kind = draw(st.sampled_from(PayloadKind))
    return PlacedProfile(
        profile=Profile(
            phases=tuple(draw(phases(name=name)) for name in names),
            manner=Manner(
                keep_alive=draw(st.booleans()),
                signs_payload=draw(st.booleans()),
                verify=draw(st.booleans()),
                checksum=draw(st.booleans()),
                retries=draw(st.integers(0, 100)),
                backoff_s=draw(SECONDS),
                connect_timeout_s=draw(SECONDS),
                timeout_s=draw(st.none() | SECONDS),
                idle_timeout_s=draw(SECONDS),
            ),
            payload=Payload(kind=kind, compressible=draw(st.floats(1, 1000)) if kind is PayloadKind.RANDOM else 1.0),
            layout=draw(st.sampled_from(Layout)),
            loops=draw(st.integers(1, 1_000_000)),
            max_error_rate=draw(st.floats(0, 1)),
        ),
        placement=Placement(
            endpoint_urls=tuple(draw(st.lists(st.from_regex(r"https?://[a-z]{1,9}", fullmatch=True), unique=True))),
            bucket=draw(st.none() | st.from_regex(r"[a-z0-9_]{3,20}", fullmatch=True)),
            region=draw(st.none() | LABELS),
            addressing=draw(st.sampled_from(Addressing)),
            tls_no_verify=tls_no_verify,
            ca_bundle=draw(st.none() | LABELS) if not tls_no_verify else None,
            workers=draw(st.none() | st.integers(1, 1024)),
        ),
    )


@given(placeds())
def test_a_profile_that_is_rendered_reads_as_itself(placed: PlacedProfile) -> None:
    assert parse_profile(render_profile(placed), "rendered") == placed


@given(
    st.text(max_size=60)
    | st.recursive(
        st.none() | st.booleans() | st.floats() | LABELS,
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["phases", "jobs", "mix", "sizes", "threads", "read", "x"]), inner, max_size=3
            )
        ),
        max_leaves=8,
    ).map(json.dumps)
)
def test_whatever_is_placed_is_read_or_refused_in_words(text: str) -> None:
    refused: Any = None
    try:
        parse_profile(text, "any")
    except BadDefinitions as error:
        refused = error
    assert refused is None or refused.problems
