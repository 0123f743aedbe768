"""Object Lock: retention periods and legal holds, which keep versions from being deleted.

https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lock.html. Codes and messages are those of recorded
responses of S3, where there are any (docs/s3-behaviour.md). Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from s3bench.s3.emulator.documents import XmlElement, malformed
from s3bench.s3.protocol.decimals import parse_decimal
from s3bench.s3.protocol.s3_error import S3Error

MODE = "x-amz-object-lock-mode"
UNTIL = "x-amz-object-lock-retain-until-date"
LEGAL_HOLD = "x-amz-object-lock-legal-hold"
BYPASS = "x-amz-bypass-governance-retention"
LOCK_HEADERS = frozenset({MODE, UNTIL, LEGAL_HOLD})

_MODES = frozenset({"GOVERNANCE", "COMPLIANCE"})
_DAY_S = 86_400
_DAYS_OF_YEAR = 365
_DAYS_MAX = 36_500
_FIRST_S = datetime.min.replace(tzinfo=UTC).timestamp()
_LAST_S = datetime.max.replace(tzinfo=UTC, microsecond=0).timestamp()


@dataclass(frozen=True, slots=True, kw_only=True)
class Retention:
    """A version is kept until `until_s`, in seconds since 1970; in COMPLIANCE mode nobody can change that."""

    mode: str
    until_s: float

    @property
    def until(self) -> str:
        """The end as S3 writes it."""
        return f"{datetime.fromtimestamp(self.until_s, UTC).isoformat(timespec='milliseconds')[:-6]}Z"


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultRetention:
    """The retention of new objects in a bucket, `count` days or years; `unit` is `Days` or `Years`."""

    mode: str
    unit: str
    count: int

    def from_now(self, now_s: float) -> Retention:
        """Give the retention of an object that is made now."""
        days = self.count * (_DAYS_OF_YEAR if self.unit == "Years" else 1)
        return Retention(mode=self.mode, until_s=now_s + days * _DAY_S)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """What keeps a version from being deleted. `legal_hold` is `ON`, `OFF`, or empty where it was never set."""

    retention: Retention | None = None
    legal_hold: str = ""

    def keeps(self, now_s: float, *, bypass: bool) -> bool:
        """Whether the version may not be deleted; `bypass` overrides the mode GOVERNANCE."""
        return self.legal_hold == "ON" or self.is_retained(now_s, bypass=bypass)

    def is_retained(self, now_s: float, *, bypass: bool) -> bool:
        """Whether its retention has not ended."""
        retention = self.retention
        if retention is None or retention.until_s <= now_s:
            return False
        return retention.mode == "COMPLIANCE" or not bypass

    def headers(self) -> list[tuple[str, str]]:
        """Give the headers of a read."""
        headers = []
        if self.retention is not None:
            headers += [(MODE, self.retention.mode), (UNTIL, self.retention.until)]
        if self.legal_hold:
            headers.append((LEGAL_HOLD, self.legal_hold))
        return headers


def requested_lock(fields: Mapping[str, str]) -> Lock | None:
    """Read what the headers of a write ask for; `None` where they ask for no lock. Raises `S3Error`."""
    if LOCK_HEADERS.isdisjoint(fields):
        return None
    mode, until, legal_hold = fields.get(MODE), fields.get(UNTIL), fields.get(LEGAL_HOLD, "")
    if (mode is None) != (until is None):
        raise _invalid(f"{UNTIL} and {MODE} must both be supplied", UNTIL if until is None else MODE)
    if legal_hold not in {"", "ON", "OFF"}:
        raise _invalid("Legal Hold must be either of 'ON' or 'OFF'", LEGAL_HOLD, legal_hold)
    if mode is None or until is None:
        return Lock(legal_hold=legal_hold)
    if mode not in _MODES:
        raise _invalid("Unknown wormMode directive.", MODE, mode)
    try:
        until_s = _parse_time(until)
    except ValueError as error:
        message = "The retain until date must be provided in ISO 8601 format"
        raise _invalid(message, UNTIL, until) from error
    return Lock(retention=Retention(mode=mode, until_s=until_s), legal_hold=legal_hold)


def check_future(lock: Lock | None, now_s: float, *, name: str = UNTIL) -> None:
    """Reject a retention that has ended already; `name` is the argument. Raises `S3Error`."""
    if lock is not None and lock.retention is not None and lock.retention.until_s <= now_s:
        shown = datetime.fromtimestamp(lock.retention.until_s, UTC).strftime("%a %b %d %H:%M:%S UTC %Y")
        raise _invalid("The retain until date must be in the future!", name, shown)


def parse_retention(document: XmlElement) -> Retention | None:
    """Read a Retention document; an empty one is none. Raises `S3Error`."""
    mode, until = document.text("Mode"), document.text("RetainUntilDate")
    if mode is None and until is None:
        return None
    if mode not in _MODES:
        raise malformed("<Mode> is neither GOVERNANCE nor COMPLIANCE")
    try:
        return Retention(mode=mode, until_s=_parse_time(until or ""))
    except ValueError as error:
        raise malformed("<RetainUntilDate> is not a time") from error


def parse_legal_hold(document: XmlElement) -> str:
    """Read a LegalHold document. Raises `S3Error`."""
    status = document.text("Status")
    if status not in {"ON", "OFF"}:
        raise malformed("<Status> is neither ON nor OFF")
    return status


def parse_configuration(document: XmlElement) -> DefaultRetention | None:
    """Read an ObjectLockConfiguration document; `None` without a rule. Raises `S3Error`."""
    if document.text("ObjectLockEnabled") != "Enabled":
        raise malformed("<ObjectLockEnabled> is not Enabled")
    rules = list(document.all("Rule"))
    if not rules:
        return None
    retentions = [retention for rule in rules for retention in rule.all("DefaultRetention")]
    if len(retentions) != 1:
        raise malformed("it has not one <DefaultRetention>")
    mode = retentions[0].text("Mode")
    if mode not in _MODES:
        raise malformed("<Mode> is neither GOVERNANCE nor COMPLIANCE")
    periods = [(unit, text) for unit in ("Days", "Years") if (text := retentions[0].text(unit)) is not None]
    if len(periods) != 1:
        raise malformed("it has not one of <Days> and <Years>")
    unit, text = periods[0]
    count = parse_decimal(text)
    if count is None or not 0 < count <= _DAYS_MAX // (_DAYS_OF_YEAR if unit == "Years" else 1):
        raise _invalid(f"Default retention period must be a positive integer value, of at most {_DAYS_MAX} days", unit)
    return DefaultRetention(mode=mode, unit=unit, count=count)


def check_change(old: Lock | None, new: Retention | None, now_s: float, *, bypass: bool) -> None:
    """Reject a retention that is weaker than the one it replaces. Raises `S3Error`."""
    if old is None or old.retention is None or not old.is_retained(now_s, bypass=bypass):
        return
    is_longer = new is not None and new.until_s >= old.retention.until_s
    if new is None or not is_longer or (old.retention.mode == "COMPLIANCE" and new.mode != "COMPLIANCE"):
        raise protected()


def protected() -> S3Error:
    """The error for what a lock forbids."""
    message = "Access Denied because object protected by object lock."
    return S3Error(status=403, code="AccessDenied", message=message)


def missing_configuration() -> S3Error:
    """The error for a lock in a bucket that has none."""
    return S3Error(status=400, code="InvalidRequest", message="Bucket is missing Object Lock Configuration")


def bypasses(fields: Mapping[str, str], *, is_locking: bool) -> bool:
    """Whether a request overrides the mode GOVERNANCE. Raises `S3Error` where its bucket `is_locking` nothing."""
    if BYPASS not in fields:
        return False
    if not is_locking:
        raise _invalid(f"{BYPASS} is only applicable to Object Lock enabled buckets.", BYPASS)
    return fields[BYPASS].lower() == "true"


def _parse_time(text: str) -> float:
    """Read a time in ISO 8601; without a zone it is UTC. Raises `ValueError`."""
    time = datetime.fromisoformat(text)
    time_s = (time if time.tzinfo is not None else time.replace(tzinfo=UTC)).timestamp()
    if not _FIRST_S <= time_s <= _LAST_S:  # a zone can lead out of the years that can be written
        raise ValueError(text)
    return time_s


def _invalid(message: str, name: str, value: str = "") -> S3Error:
    details = (("ArgumentName", name), ("ArgumentValue", value)) if value else (("ArgumentName", name),)
    return S3Error(status=400, code="InvalidArgument", message=message, details=details)
