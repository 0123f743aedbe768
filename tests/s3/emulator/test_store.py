"""Versions and ids of what a bucket holds."""

from s3bench.s3.emulator.content import Stretches
from s3bench.s3.emulator.memory import Memory
from s3bench.s3.emulator.store import Bucket, ObjectStore, Version, Versioning

MORE_THAN_REMEMBERED = 10_001


def put(bucket: Bucket, key: str = "k", *, deleted: bool = False) -> Version:
    content = None if deleted else Stretches(())
    version_id, hold = bucket.next_version_id(key), Memory(1 << 20).hold(0)
    version = Version(key=key, version_id=version_id, modified_s=0.0, hold=hold, content=content)
    bucket.put(version)
    return version


def bucket(versioning: Versioning = Versioning.NEVER) -> Bucket:
    made = Bucket("b", 0.0, seed=1, region="us-east-1")
    made.versioning = versioning
    return made


def test_without_versioning_a_put_takes_the_place_of_the_one_before() -> None:
    b = bucket()
    put(b)
    second = put(b)
    assert (b.current("k"), b.versions) == (second, 1)


def test_versions_are_kept_newest_first_and_a_null_version_once() -> None:
    b = bucket()
    null = put(b)
    b.versioning = Versioning.ENABLED
    kept = put(b)
    assert b.version("k", "null") is null
    b.versioning = Versioning.SUSPENDED
    newest = put(b)
    assert b.keys["k"].versions == [newest, kept]
    assert b.version("k", "null") is newest


def test_a_delete_marker_hides_the_key_until_it_is_removed() -> None:
    b = bucket(Versioning.ENABLED)
    first = put(b)
    marker = put(b, deleted=True)
    assert b.current("k") is None
    assert not b.empty
    assert b.remove("k", marker.version_id) is marker
    assert b.current("k") is first


def test_an_id_is_not_given_again_when_all_versions_are_gone() -> None:
    b = bucket(Versioning.ENABLED)
    first = put(b)
    b.remove("k", first.version_id)
    assert b.empty
    assert put(b).version_id != first.version_id


def test_ids_depend_on_the_key_and_its_history_and_not_on_the_order_of_keys() -> None:
    one, other = bucket(Versioning.ENABLED), bucket(Versioning.ENABLED)
    ids = {key: put(one, key).version_id for key in ("a", "b")}
    assert {key: put(other, key).version_id for key in ("b", "a")} == ids


def test_ids_of_the_uploads_of_a_key_sort_in_the_order_of_their_beginning() -> None:
    b = bucket()
    ids = [b.next_upload_id("k") for _ in range(300)]
    assert ids == sorted(set(ids))


def test_no_upload_id_is_given_twice_however_many_keys_were_uploaded_in_between() -> None:
    b = bucket()
    before = [b.next_upload_id("k") for _ in range(3)]
    for number in range(MORE_THAN_REMEMBERED):
        b.next_upload_id(f"other {number}")
    after = b.next_upload_id("k")
    assert after not in before
    assert after > max(before)


def test_no_version_id_is_given_twice_however_many_keys_were_removed_in_between() -> None:
    b = bucket(Versioning.ENABLED)
    before = [put(b) for _ in range(3)]
    for version in before:
        b.remove("k", version.version_id)
    for number in range(MORE_THAN_REMEMBERED):
        key = f"other {number}"
        b.remove(key, put(b, key).version_id)
    assert put(b).version_id not in {version.version_id for version in before}


def test_a_bucket_that_was_deleted_and_made_again_gives_other_ids() -> None:
    store = ObjectStore(1, "us-east-1")
    ids = []
    for _ in range(3):
        made = store.make("b", 0.0)
        made.versioning = Versioning.ENABLED
        ids += [made.next_upload_id("k"), made.next_version_id("k")]
        del store.buckets["b"]
    assert len(set(ids)) == len(ids)
