#!/usr/bin/env python3
"""Is what s3bench says about the wire true? The real clients, over HTTP and HTTPS.

Uploads: 32 MiB of noise must arrive as 32 MiB with the client's own checksums verified. Downloads: 320 MiB of noise in
1 MiB ranges, asked for 64 at a time where the client can (each answer is held back so that they pile up), must land
byte for byte as served.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

S3BENCH = Path(sys.executable).with_name("s3bench")
CLIENTS = ("cli-classic", "cli-crt", "boto3-classic", "boto3-crt", "crt-python", "s5cmd")
MIB = 1 << 20
UPLOAD_BYTES, DOWNLOAD_BYTES, CONCURRENCY = 32 * MIB, 320 * MIB, 64
# aws-c-s3 sends no checksum of its own unless asked to, and our crt-python driver asks for nothing.
WITHOUT_CHECKSUM = frozenset({"crt-python"})
CONFIG = (
    "[default]\ns3 =\n  multipart_threshold = 1MB\n  multipart_chunksize = 1MB\n"
    f"  max_concurrent_requests = {CONCURRENCY}\n  target_bandwidth = 100Gb/s\n"
)


def upload() -> dict[str, Any]:
    """A single multipart upload."""
    path = "/bucket/key"
    created = "<InitiateMultipartUploadResult><UploadId>upload</UploadId></InitiateMultipartUploadResult>"
    completed = '<CompleteMultipartUploadResult><ETag>"1"</ETag></CompleteMultipartUploadResult>'
    return {
        "name": "upload",
        "command": ["s3", "cp", "file", "s3://bucket/key", "--quiet"],
        "clients": list(CLIENTS),
        "environment": {"files": [{"name": "file", "size": UPLOAD_BYTES, "fill": "random"}]},
        "responses": [
            {"match": {"method": "PUT", "path": path}, "instances": "any"},
            {"match": {"method": "POST", "path": path, "query": {"uploads": ""}}, "body": created, "instances": "any"},
            {
                "match": {"method": "POST", "path": path, "query": {"uploadId": ""}},
                "body": completed,
                "instances": "any",
            },
        ],
    }


def download() -> dict[str, Any]:
    """A single download in many ranges."""
    served = {"body": {"file": "remote"}, "instances": "any"}
    return {
        "name": "download",
        "command": ["s3", "cp", "s3://bucket/key", "landed", "--quiet"],
        "clients": list(CLIENTS),
        "environment": {
            "files": [{"name": "remote", "size": DOWNLOAD_BYTES, "fill": "random"}],
            "config": CONFIG,
        },
        "responses": [
            {"match": {"method": "HEAD", "path": "/bucket/key"}, **served},
            {"match": {"method": "GET", "path": "/bucket/key"}, "delay": 0.2, **served},
        ],
    }


def results(*, tls: bool) -> list[dict[str, Any]]:
    """Run both benchmarks on every client."""
    with tempfile.TemporaryDirectory() as directory:
        definitions = Path(directory) / "definitions.json"
        definitions.write_text(json.dumps([upload(), download()]))
        command = [str(S3BENCH), "run", "--quiet", "--json", str(definitions), *["--tls"] * tls]
        finished = subprocess.run(command, stdout=subprocess.PIPE, check=False)
        found: list[dict[str, Any]] = json.loads(finished.stdout)["results"]
        return found


def judge(result: dict[str, Any]) -> tuple[bool, str]:
    """Whether the result is right, and what was seen."""
    if result["errors"]:
        return False, result["errors"][0]["what"]
    (measurement,) = result["measurements"]
    wire = measurement["wire"]
    seen = (
        f"engine {measurement['engine']}, {wire['bytes_received']} bytes up, {wire['bytes_sent']} down, "
        f"{wire['checksums_verified']} checksums right, {wire['requests_in_flight_max']} requests at once"
    )
    if result["name"] == "download":
        return wire["bytes_sent"] == DOWNLOAD_BYTES, f"{seen}, file identical"
    has_checksums = wire["checksums_verified"] > 0 or result["client"]["name"] in WITHOUT_CHECKSUM
    # CompleteMultipartUpload's own body comes on top.
    return 0 <= wire["bytes_received"] - UPLOAD_BYTES < 10_000 and has_checksums, seen


def main() -> int:
    """Check everything; exit 1 when anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    rows = []
    for tls in (False, True):
        for result in results(tls=tls):
            is_right, seen = judge(result)
            protocol = "https" if tls else "http"
            row = {"what": result["name"], "client": result["client"]["label"], "over": protocol, "seen": seen}
            rows.append({**row, "right": is_right})
            if not options.json:
                print(
                    f"{'ok ' if is_right else 'BAD'} {row['what']:8} {protocol:5} {row['client']:22} {seen}", flush=True
                )
    if options.json:
        print(json.dumps(rows, indent=2))
    return int(not all(row["right"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
