"""The settings of an emulator; plain values, since they cross the channel to the server's process."""

import msgspec

REGION = "us-east-1"
DOMAIN = "localhost"
MEMORY_LIMIT_BYTES = 2 * 1024**3


class EmulatorSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What `s3bench serve` and the embedded emulator can choose.

    `memory_limit_bytes` bounds object data and what is kept about objects. With `discard` only sizes and checksums are
    kept, and reads get deterministic noise. `data_dir` serves the files below a directory, read-only: its
    subdirectories are the buckets. `md5_always` makes every ETag the MD5 of its body, however large. With `access_key`
    and `secret_key` every request must be signed with them; without, any credentials will do. `domain` is what follows
    the bucket in virtual-hosted requests. `buckets` exist from the start. Upload and version ids come from `seed`.
    """

    memory_limit_bytes: int = MEMORY_LIMIT_BYTES
    discard: bool = False
    data_dir: str | None = None
    md5_always: bool = False
    access_key: str | None = None
    secret_key: str | None = None
    region: str = REGION
    domain: str = DOMAIN
    buckets: tuple[str, ...] = ()
    seed: int = 0
