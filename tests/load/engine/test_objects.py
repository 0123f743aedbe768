import base64
import hashlib
import itertools
import os
import subprocess
import sys
import zlib
from collections import Counter
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from s3bench.errors import BadInput
from s3bench.load.engine.objects import FAR, STAMP_BYTES, ObjectBody, Objects, slot_of
from s3bench.load.engine.pool import BLOCK_BYTES, POOL_BYTES_MAX, Pool
from s3bench.load.engine.verification import Crc32Body
from s3bench.load.profile.profile import DataSet, Layout, Payload, PayloadKind
from s3bench.load.profile.sizes import SLOTS, Sizes, fixed, parse_sizes

RUN = "0123456789ab"
ROOT = f"s3bench/{RUN}/"
DATA = DataSet(run=RUN, root=ROOT)


def objects(sizes: Sizes | str, data: DataSet = DATA, *, workers: int = 2, signs_payload: bool = False) -> Objects:
    parsed = parse_sizes(sizes) if isinstance(sizes, str) else sizes
    return Objects(data, parsed, bucket="bucket", workers=workers, signs_payload=signs_payload, checksum=True)


def verified(size: str, by_crc32: bool) -> Objects:
    with mock.patch("s3bench.load.engine.objects.crc32_is_faster", return_value=by_crc32):
        return objects(size)


VERIFIED = {
    by_crc32: {size: verified(str(size), by_crc32) for size in (1, 15, 16, 17, 4096, 70_000, 500_000)}
    for by_crc32 in (True, False)
}
BY = pytest.mark.parametrize("by_crc32", [True, False], ids=["by CRC-32", "byte by byte"])


def content(body: ObjectBody) -> bytes:
    return b"".join(body.pieces)


class TestBodies:
    @pytest.mark.parametrize("size", ["0", "1", "15", "16", "17", "4096", "65536", "65537", "1MiB", "9MiB"])
    @pytest.mark.parametrize("signs_payload", [False, True])
    def test_checksums_are_those_of_the_pieces(self, size: str, signs_payload: bool) -> None:
        made = objects(size, signs_payload=signs_payload)
        for number in (0, 1, 7, 12_345_678_901):
            body = made.body(number)
            whole = content(body)
            assert body.size_bytes == made.size_bytes(number) == len(whole) == parse_sizes(size).slots[0]
            assert body.sha256() == body.sha256() == hashlib.sha256(whole).hexdigest()
            assert body.crc32() == zlib.crc32(whole)
            assert base64.b64decode(body.base64_crc32()) == zlib.crc32(whole).to_bytes(4, "big")
            assert made.expected(number) == (len(whole), body)

    def test_objects_of_several_sizes_have_the_size_of_their_slot(self) -> None:
        made = objects("10:70,100KiB:30")
        sizes = [made.body(number).size_bytes for number in range(SLOTS)]
        assert sizes == [made.size_bytes(number) for number in range(SLOTS)]
        assert Counter(sizes) == {10: 179, 102_400: 77}
        assert all(zlib.crc32(content(made.body(number))) == made.body(number).crc32() for number in range(SLOTS))

    @given(st.data())
    def test_a_part_has_the_bytes_and_checksums_of_its_range(self, data: st.DataObject) -> None:
        size_bytes = data.draw(st.sampled_from([1, 15, 16, 40, 5000, 70_000]))
        start = data.draw(st.integers(0, size_bytes) | st.integers(max(0, size_bytes - 20), size_bytes))
        end = data.draw(st.integers(start, size_bytes))
        body = objects(fixed(size_bytes)).body(data.draw(st.integers(0, 10**9)))
        expected = content(body)[start:end]
        part = body.part(start, end)
        assert content(part) == expected
        assert part.size_bytes == len(expected)
        assert part.crc32() == zlib.crc32(expected)
        assert part.sha256() == hashlib.sha256(expected).hexdigest()

    @BY
    @given(st.data())
    def test_a_body_is_told_from_one_with_a_changed_byte_in_any_pieces(
        self, by_crc32: bool, data: st.DataObject
    ) -> None:
        size_bytes = data.draw(st.sampled_from([1, 15, 16, 17, 4096, 70_000, 500_000]))
        body = VERIFIED[by_crc32][size_bytes].body(data.draw(st.integers(0, 10**9)))
        start = data.draw(st.integers(0, size_bytes - 1)) if data.draw(st.booleans()) else 0
        end = data.draw(st.integers(start + 1, size_bytes)) if start else size_bytes
        if (start, end) != (0, size_bytes):
            body = body.part(start, end)
        right = content(body)
        wrong = bytearray(right)
        near_the_end = st.integers(max(0, len(right) - STAMP_BYTES - 1), len(right) - 1)
        wrong[data.draw(st.integers(0, len(right) - 1) | near_the_end)] ^= 1 << data.draw(st.integers(0, 7))
        cuts = sorted(data.draw(st.lists(st.integers(0, len(right)) | near_the_end, max_size=5)))
        for came, is_right in ((right, True), (bytes(wrong), False)):
            assert body.is_equal(b"head" + came, 4) is is_right
            verifier = body.verifier()
            for piece_start, piece_end in itertools.pairwise((0, *cuts, len(came))):
                verifier.take(memoryview(came)[piece_start:piece_end])
            assert verifier.is_right is is_right

    @BY
    def test_a_body_that_goes_round_the_pool_is_verified_in_every_round(self, by_crc32: bool) -> None:
        body = verified("70MiB", by_crc32).body(1)
        whole = content(body)
        for wrong_at in (None, 1000, 40 * 1024**2, 69 * 1024**2, len(whole) - 1):
            came = bytearray(whole)
            if wrong_at is not None:
                came[wrong_at] ^= 1
            verifier = body.verifier()
            verifier.take(memoryview(came)[:100])
            verifier.take(memoryview(came)[100:])
            assert verifier.is_right is (wrong_at is None)

    @BY
    def test_a_body_of_another_object_or_with_more_at_its_end_is_wrong(self, by_crc32: bool) -> None:
        for size in ("4096", "1MiB"):
            made = verified(size, by_crc32)
            body, came = made.body(1), content(made.body(1 + SLOTS * 64))
            assert not body.is_equal(came, 0)
            verifier = body.verifier()
            verifier.take(memoryview(content(body) + b"x"))
            assert not verifier.is_right

    def test_a_part_ends_where_the_object_ends(self) -> None:
        body = objects("100").body(3)
        assert content(body.part(90, 1000)) == content(body)[90:]

    @pytest.mark.parametrize("size", ["12", "16", "4096", "1MiB"])
    @pytest.mark.parametrize("kind", PayloadKind)
    def test_no_two_objects_are_alike_and_the_end_tells_them_apart(self, size: str, kind: PayloadKind) -> None:
        made = objects(size, DataSet(run=RUN, root=ROOT, payload=Payload(kind=kind)))
        numbers = [*range(2000), *range(2**40, 2**40 + 100)]
        ends = {bytes(made.body(number).part(made.size_bytes(number) - 12, 1 << 40).pieces[-1]) for number in numbers}
        assert len(ends) == len(numbers)

    def test_runs_and_data_sets_of_a_run_have_contents_of_their_own(self) -> None:
        datas = [DATA, DataSet(run="ba9876543210", root=ROOT), DataSet(run=RUN, root=f"{ROOT}00000000/")]
        assert len({content(objects("4096", data).body(1)) for data in datas}) == 3
        assert len({content(objects("4096", data).body(1))[-STAMP_BYTES:] for data in datas}) == 3

    def test_a_small_body_is_one_piece_and_a_large_one_is_not_copied(self) -> None:
        assert len(objects("64KiB").body(1).pieces) == 1
        made = objects("8MiB")
        first = made.body(1).pieces
        assert len(first) in {2, 3}  # a window may go on at the pool's beginning
        assert all(piece.obj is made.body(2).pieces[0].obj for piece in first[:-1])
        assert len(first[-1]) == STAMP_BYTES
        assert first[0].readonly

    def test_contents_and_slots_are_the_same_in_every_process(self) -> None:
        script = (
            "import hashlib; from s3bench.load.engine.objects import *;"
            "from s3bench.load.profile.profile import DataSet;"
            "from s3bench.load.profile.sizes import parse_sizes;"
            f"made = Objects(DataSet(run={RUN!r}, root={ROOT!r}), parse_sizes('lognormal:4KiB,1'), bucket='b',"
            "workers=2, signs_payload=False, checksum=False);"
            "print(hashlib.sha256(''.join(made.body(n).sha256() for n in range(1000)).encode()).hexdigest())"
        )
        environment = dict(os.environ, PYTHONHASHSEED="4711")
        told = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment, timeout=200
        ).stdout.strip()
        made = objects("lognormal:4KiB,1")
        here = hashlib.sha256("".join(made.body(number).sha256() for number in range(1000)).encode()).hexdigest()
        assert told == here

    def test_contents_stay_the_same_over_versions(self) -> None:
        """What a run left behind can be read by a later version: a change here breaks prepared data sets."""
        sums = "".join(
            f"{made.key(number)} {made.body(number).crc32():08x}\n"
            for made in (objects("uniform:1-100000"), objects("4096"), objects("100MiB"))
            for number in range(600)
        )
        assert (
            hashlib.sha256(sums.encode()).hexdigest()
            == "ad9b5d7e1692e4fccc5a3fdc1d9706f02c9c0f03dad3651338bd471b447e08e8"
        )


class TestSlots:
    @given(st.integers(0, 2**40))
    def test_each_256_numbers_have_every_slot_once(self, block: int) -> None:
        assert sorted(slot_of(number) for number in range(block * SLOTS, (block + 1) * SLOTS)) == list(range(SLOTS))

    def test_no_pattern_repeats(self) -> None:
        blocks = {tuple(slot_of(number) for number in range(start, start + SLOTS)) for start in range(0, 65_536, SLOTS)}
        assert len(blocks) == 256
        for stride in (1, 2, 4, 16, 256):  # as workers and sequential readers go
            steps = Counter(
                (slot_of(number + stride) - slot_of(number)) % SLOTS for number in range(0, stride * 4096, stride)
            )
            assert max(steps.values()) < 200, stride

    def test_each_worker_gets_all_sizes(self) -> None:
        for workers in (2, 4, 8):
            share = [slot_of(number) for number in range(1, 40_000, workers)]
            small = sum(slot < SLOTS // 2 for slot in share) / len(share)
            assert small == pytest.approx(0.5, abs=0.03)


class TestPool:
    @pytest.mark.parametrize("size", ["4096", "100000", "1MiB", "40MiB"])
    def test_blocks_of_slots_are_not_alike(self, size: str) -> None:
        made = objects(size)
        seen: Counter[bytes] = Counter()
        bodies: dict[bytes, ObjectBody] = {}
        for number in range(400):  # all slots, each once
            bodies.setdefault(bytes(made.body(number).part(0, 64).pieces[0]), made.body(number))
        for body in bodies.values():
            size_bytes = body.size_bytes
            for start in range(0, size_bytes, max(BLOCK_BYTES, size_bytes // 64 // BLOCK_BYTES * BLOCK_BYTES)):
                seen[b"".join(body.part(start, min(start + BLOCK_BYTES, size_bytes)).pieces)] += 1
        assert len(bodies) == {"4096": 64, "100000": 64, "1MiB": 64, "40MiB": 4}[size]
        assert max(seen.values()) == 1

    def test_no_aligned_block_of_random_windows_occurs_twice(self) -> None:
        pool = Pool("seed", Payload(), count=4, total_bytes=1 << 20)
        blocks: Counter[bytes] = Counter()
        for index in range(4):
            start = pool.offset(index)
            whole = b"".join(pool.pieces(start, start + 8 * 1024**2))  # eight rounds
            blocks.update(whole[place : place + BLOCK_BYTES] for place in range(0, len(whole), BLOCK_BYTES))
        assert len(blocks) == 4 * 8 * 256

    def test_memory_is_bounded_and_a_large_object_reads_the_pool_again(self) -> None:
        made = objects("5TiB")
        body = made.body(1)
        assert body.size_bytes == 5 * 1024**4
        pool_bytes = len(body.pieces[1])
        assert pool_bytes <= POOL_BYTES_MAX + BLOCK_BYTES
        assert body.pieces[1] is body.pieces[2]
        start = body.pieces[0].nbytes
        assert content(body.part(start, start + 5000)) == content(
            body.part(start + pool_bytes, start + pool_bytes + 5000)
        )

    @given(st.integers(0, 3_000_000), st.integers(0, 3_000_000))
    def test_the_checksum_of_any_range_is_that_of_its_pieces(self, start: int, length: int) -> None:
        pool = POOL
        pieces = pool.pieces(start, start + length)
        assert sum(map(len, pieces)) == length
        assert all(map(len, pieces))
        assert pool.crc32(start, start + length) == zlib.crc32(b"".join(pieces))

    def test_pieces_meet_at_the_ends_of_the_rounds(self) -> None:
        round_bytes = len(POOL.pieces(0, 1 << 20)[0])
        whole = bytes(POOL.pieces(0, round_bytes)[0]) * 3
        for start in (0, 1, round_bytes - 1, round_bytes):
            for end in (start, start + 1, *range(2 * round_bytes - 2, 2 * round_bytes + 3), 3 * round_bytes):
                assert b"".join(POOL.pieces(start, end)) == whole[start:end]

    @pytest.mark.parametrize("factor", [1.0, 1.5, 2.0, 4.0, 10.0])
    def test_compressible_payload_shrinks_by_the_factor(self, factor: float) -> None:
        data = DataSet(run=RUN, root=ROOT, payload=Payload(compressible=factor))
        whole = content(objects("1MiB", data).body(5))
        assert len(whole) / len(zlib.compress(whole)) == pytest.approx(factor, rel=0.06)
        for start in range(0, len(whole) - BLOCK_BYTES, 100 * BLOCK_BYTES):
            block = whole[start : start + BLOCK_BYTES]
            assert BLOCK_BYTES - block.count(0) == pytest.approx(BLOCK_BYTES / factor, rel=0.03)

    def test_a_payload_cannot_grow_by_compression(self) -> None:
        with pytest.raises(BadInput, match=r"compressible by 0\.5"):
            objects("1MiB", DataSet(run=RUN, root=ROOT, payload=Payload(compressible=0.5)))

    def test_zero_payload_is_zero_up_to_the_stamp(self) -> None:
        whole = content(objects("1MiB", DataSet(run=RUN, root=ROOT, payload=Payload(kind=PayloadKind.ZERO))).body(5))
        assert not any(whole[:-STAMP_BYTES])
        assert any(whole[-STAMP_BYTES:])


POOL = Pool("seed", Payload(), count=64, total_bytes=0)


class TestKeys:
    def test_a_key_is_the_root_and_the_number_in_eight_digits_or_more(self) -> None:
        made = objects("1")
        assert made.key(12) == "s3bench/0123456789ab/00000012"
        assert made.path(12) == "/s3bench/0123456789ab/00000012"
        assert made.key(1_234_567_890) == "s3bench/0123456789ab/1234567890"
        assert made.copy_source(12) == "bucket/s3bench/0123456789ab/00000012"
        assert made.listed is None

    def test_with_a_directory_for_each_worker_the_number_tells_it(self) -> None:
        made = objects("1", DataSet(run=RUN, root=ROOT, layout=Layout.WORKER), workers=3)
        assert [made.key(number) for number in (3, 4, 5)] == [
            "s3bench/0123456789ab/w0/00000003",
            "s3bench/0123456789ab/w1/00000004",
            "s3bench/0123456789ab/w2/00000005",
        ]
        assert made.path(4) == "/s3bench/0123456789ab/w1/00000004"

    def test_a_root_with_special_characters_is_encoded_in_paths_only(self) -> None:
        made = objects("1", DataSet(run=RUN, root="a b/ü/"))
        assert made.key(1) == "a b/ü/00000001"
        assert made.path(1) == "/a%20b/%C3%BC/00000001"


class TestKeyFile:
    def test_keys_sizes_and_checksums_come_from_the_file(self, tmp_path: Path) -> None:
        file = tmp_path / "keys"
        file.write_bytes("plain/key\nwith size\t5\r\nwith/ü+~\t6\tDEADbeef\n".encode())
        made = objects("1", DataSet(run=RUN, root=ROOT, key_file=str(file)))
        assert made.listed == 3
        assert [made.key(number) for number in range(3)] == ["plain/key", "with size", "with/ü+~"]
        assert [made.path(number) for number in range(3)] == ["/plain/key", "/with%20size", "/with/%C3%BC%2B~"]
        assert [made.expected(number) for number in range(3)] == [
            (None, None),
            (5, None),
            (6, Crc32Body(0xDEADBEEF)),
        ]
        assert made.copy_source(1) == "bucket/with%20size"

    @pytest.mark.parametrize(
        ("contents", "line", "why"),
        [
            (b"good\n\nbad", 2, "the key is empty"),
            (b"\t5", 1, "the key is empty"),
            (b"a\xff", 1, "it is not UTF-8"),
            (b"a\nb\tx", 2, "'x' is not a size of an object in bytes"),
            (b"a\t-1", 1, "'-1' is not a size of an object in bytes"),
            (b"a\t\t0badcafe", 1, "'' is not a size of an object in bytes"),
            (b"a\t9999999999999", 1, "is not a size of an object in bytes"),
            (b"a\t5\t123", 1, "'123' is not a CRC-32"),
            (b"a\t5\t", 1, "'' is not a CRC-32"),
            (b"a\t5\t0badcafe\tx", 1, "there are 4 fields"),
            (b"x" * 1025, 1, "the key has 1,025 bytes; S3 allows 1,024"),
        ],
    )
    def test_a_wrong_line_is_told_with_its_number(self, tmp_path: Path, contents: bytes, line: int, why: str) -> None:
        file = tmp_path / "keys"
        file.write_bytes(contents)
        with pytest.raises(BadInput) as refused:
            objects("1", DataSet(run=RUN, root=ROOT, key_file=str(file)))
        assert refused.value.what == f"{file}, line {line}: no object"
        assert why in refused.value.why
        assert "KEY<tab>SIZE<tab>CRC32" in refused.value.fix

    def test_an_empty_or_absent_file_is_refused(self, tmp_path: Path) -> None:
        file = tmp_path / "keys"
        with pytest.raises(BadInput, match="cannot be read"):
            objects("1", DataSet(run=RUN, root=ROOT, key_file=str(file)))
        file.touch()
        with pytest.raises(BadInput, match="is empty"):
            objects("1", DataSet(run=RUN, root=ROOT, key_file=str(file)))


class TestNewObjectsOfAReusedRun:
    @pytest.mark.parametrize("layout", list(Layout))
    def test_they_have_keys_of_their_own_and_the_data_set_keeps_its(self, layout: Layout) -> None:
        data = DataSet(run=RUN, root=ROOT, layout=layout)
        alone = objects("100", data)
        made = Objects(
            data, fixed(100), bucket="bucket", workers=2, signs_payload=False, checksum=True, new_root="s3bench/new ü/"
        )
        assert made.key(FAR - 1) == alone.key(FAR - 1)
        assert content(made.body(FAR - 1)) == content(alone.body(FAR - 1))
        assert made.key(FAR) == alone.key(FAR).replace(ROOT, "s3bench/new ü/")
        assert made.path(FAR) == alone.path(FAR).replace(ROOT, "s3bench/new%20%C3%BC/")
        assert content(made.body(FAR))[-STAMP_BYTES:] != content(alone.body(FAR))[-STAMP_BYTES:]
