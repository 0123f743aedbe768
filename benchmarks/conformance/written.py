"""Recorded scenarios whose requests are data: reads scenarios.toml, and plays the steps of a scenario.

Owns what the values in that file mean; its first lines say how they are written.
"""

import base64
import http.client
import re
import tomllib
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from conformance.recorded import Player, Scenario, why_not
from s3bench.s3.protocol.checksums import digest_of

_FILE = Path(__file__).with_name("scenarios.toml")
_ANY = "[*]"
_BOUNDARY = "recorded-form"
_TIMEOUT_S = 10
_LISTS = re.compile(r"list_.*")
_REPEATED = frozenset({
    "Delimiter", "KeyMarker", "Marker", "MaxKeys", "MaxParts", "MaxUploads", "PartNumberMarker", "Prefix",
    "StartAfter", "UploadIdMarker", "VersionIdMarker", "ContinuationToken",
})  # fmt: skip
"""The parameters of lists that S3 repeats in its responses."""

_DEFAULTS = ("", 0, 1000)
_NAME = re.compile(r"\$(bucket2|bucket|param1|param2|param|item|enabled)")


def read_scenarios(names: Iterable[str]) -> dict[str, Scenario]:
    """Give the scenarios of scenarios.toml that are among the recorded `names`."""
    tables = tomllib.loads(_FILE.read_text())
    found: dict[str, Scenario] = {}
    for name in names:
        start, _, parameter = name.removesuffix("]").partition("[")
        table = tables.get(name) or (None if why_not(name) else tables.get(start + _ANY))
        if table is not None:
            found[name] = partial(_play, table["steps"], parameter)
    return found


def form_of(fields: Mapping[str, str], file: str, file_name: str | None) -> bytes:
    """Give a form as a browser sends it; `file_name` is `None` where the file has no name."""
    parts = [f'Content-Disposition: form-data; name="{name}"\r\n\r\n{value}' for name, value in fields.items()]
    named = "" if file_name is None else f'; filename="{file_name}"'
    parts.append(f'Content-Disposition: form-data; name="file"{named}\r\n\r\n{file}')
    return "".join(f"--{_BOUNDARY}\r\n{part}\r\n" for part in parts).encode() + f"--{_BOUNDARY}--\r\n".encode()


def send(method: str, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, Mapping[str, str], bytes]:
    """Make a request; gives its status, headers and body."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=_TIMEOUT_S)
    try:
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        connection.request(method, target, body=body or None, headers=dict(headers))
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        connection.close()


def _play(steps: list[list[Any]], parameter: str, play: Player) -> None:
    scenario = _Playing(play, parameter)
    for name, operation, parameters, *more in steps:
        differing = tuple(more[0].split()) if more else ()
        for item in more[1] if len(more) > 1 else [""]:
            scenario.step(name, operation, parameters, differing, str(item))


class _Playing:
    """One scenario being played: its responses so far, by the names of their steps."""

    def __init__(self, play: Player, parameter: str) -> None:
        self._play = play
        first, _, second = parameter.partition("-")
        self._names = {
            "bucket": play.bucket,
            "bucket2": f"{play.bucket}-2",
            "param": parameter,
            "param1": first,
            "param2": second,
            "enabled": "ENABLED" if parameter == "get_object" else "None",
        }
        self._responses: dict[str, Any] = {}

    def step(
        self, name: str, operation: str, parameters: Mapping[str, Any], differing: tuple[str, ...], item: str
    ) -> None:
        """Make the call of one step."""
        self._names["item"] = item
        name, operation = self._text(name), self._text(operation)
        recorded = self._play.recorded(name)
        given = {self._text(key): self._value(value) for key, value in parameters.items()}
        if _LISTS.fullmatch(operation) and recorded is not None:
            given = {**self._repeated(recorded), **given}
        given = {key: value for key, value in given.items() if value != "None"}
        if operation in {"http", "form"}:
            made = self._exchange(given) if operation == "http" else self._form(given)
            self._play.exchange(name, made, masked=differing)
            return
        if given.get("Bucket") == self._names["bucket2"]:
            self._play.call("create_bucket", Bucket=given["Bucket"])
        if recorded is None:
            self._responses[name] = self._play.call(operation, **given)
        else:
            self._responses[name] = self._play.step(name, operation, masked=differing, **given)

    def _exchange(self, given: Mapping[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Make a request without botocore: presigned as `Operation`, or unsigned without one."""
        url = f"{self._play.client.meta.endpoint_url}/{given.get('Bucket', self._play.bucket)}"
        if "Operation" in given:
            parameters = {"Bucket": self._play.bucket, **given.get("Parameters", {})}
            client = self._play.presigner(given.get("Version", "s3v4"))
            url = client.generate_presigned_url(
                given["Operation"], Params=parameters, ExpiresIn=given.get("ExpiresIn", 60)
            )
        elif "Key" in given:
            url += f"/{given['Key']}"
        for old, new in given.get("Change", {}).items():
            url = url.replace(old, new)
        return send(given["Method"], url, given.get("Headers", {}), given.get("Body", "").encode())

    def _form(self, given: Mapping[str, Any]) -> tuple[int, Mapping[str, str], bytes]:
        """Post a form that botocore signed, with what was changed in it since."""
        signed = self._play.presigner(given.get("Version", "s3")).generate_presigned_post(
            self._play.bucket,
            given["Key"],
            Fields=given.get("Fields"),
            Conditions=given.get("Conditions"),
            ExpiresIn=given.get("ExpiresIn", 60),
        )
        fields = {**signed["fields"], **given.get("Change", {})}
        kind = given.get("ContentType", f"multipart/form-data; boundary={_BOUNDARY}")
        body = form_of({name: value for name, value in fields.items() if value}, given["File"], given.get("FileName"))
        return send("POST", signed["url"], {"Content-Type": kind}, body)

    def _repeated(self, recorded: Mapping[str, Any]) -> dict[str, Any]:
        return {
            key: self._value(value) for key, value in recorded.items() if key in _REPEATED and value not in _DEFAULTS
        }

    def _value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._value(item) for item in value]
        if isinstance(value, str):
            return self._looked_up(value)
        if not isinstance(value, dict):
            return value
        if "repeat" in value:
            return value["repeat"] * value["times"]
        if "sum" in value:
            data = memoryview(value["of"].encode())
            return base64.b64encode(digest_of(self._text(value["sum"]).lower(), [data])).decode()
        if "hours" in value:
            return datetime.now(UTC) + timedelta(hours=value["hours"])
        return {self._text(key): self._value(item) for key, item in value.items()}

    def _looked_up(self, text: str) -> Any:
        known = self._play.known.get(self._text(text))
        if known is not None:
            return known
        if text.startswith("$") and "." in text:
            name, _, path = self._text(text[1:]).partition(".")
            if name in self._responses:
                found = self._responses[name]
                for key in path.split("."):
                    found = found[key]
                return found
        return self._text(text)

    def _text(self, text: str) -> str:
        return _NAME.sub(lambda found: self._names[found[1]], text)
