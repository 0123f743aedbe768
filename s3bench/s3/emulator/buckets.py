"""Operations on buckets, their names and their settings.

Names: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html.
"""

import ipaddress
import re

from s3bench.s3.emulator.call import Call
from s3bench.s3.emulator.directory_bucket import is_directory_bucket, zone_of
from s3bench.s3.emulator.documents import checked_tags, document, element, group, iso_time, malformed, render_tagging
from s3bench.s3.emulator.encryption import ACCOUNT_ID
from s3bench.s3.emulator.lookup import find_bucket
from s3bench.s3.emulator.members import parse_known, parse_tagging
from s3bench.s3.emulator.operation import invalid_bucket_name, not_implemented
from s3bench.s3.emulator.store import OWNER, ObjectStore, Tags, Versioning
from s3bench.s3.protocol.exchange import Reply
from s3bench.s3.protocol.s3_error import S3Error

DEFAULT_REGION = "us-east-1"

BUCKETS_MAX = 10_000
"""How many an account may have (https://docs.aws.amazon.com/AmazonS3/latest/userguide/BucketRestrictions.html)."""

_REGION = re.compile(r"EU|(?!us-east-1$)[a-z]{2}(-[a-z]+)+-\d")
"""What can be a location constraint; us-east-1 is written by leaving it out."""

_LOCATION_TYPES = {"AvailabilityZone": "SingleAvailabilityZone", "LocalZone": "SingleLocalZone"}
"""Where a directory bucket can be, and the data redundancy it has there."""

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9.-]{1,61})[a-z0-9]")
_RESERVED_PREFIXES = ("sthree-", "xn--")  # not amzn-s3-demo-: AWS's own examples make buckets of such names
_RESERVED_SUFFIXES = ("-s3alias", "--ol-s3", ".mrap", "--table-s3")


def valid_name(name: str) -> bool:
    """Whether S3 takes `name` for a new bucket; names like those in AWS's examples can be used here as well."""
    if _NAME.fullmatch(name) is None or ".." in name or ".-" in name or "-." in name:
        return False
    if name.startswith(_RESERVED_PREFIXES) or name.endswith(_RESERVED_SUFFIXES):
        return False
    try:
        ipaddress.IPv4Address(name)
    except ValueError:
        return True
    return False


class BucketOperations:
    """What can be done to buckets."""

    def __init__(self, store: ObjectStore, region: str) -> None:
        self._store = store
        self._region = region

    def list_buckets(self, call: Call) -> Reply:
        """List all buckets, in pages where max-buckets asks for them."""
        prefix, after = call.query.get("prefix", ""), call.query.get("continuation-token", "")
        limit, region = call.number("max-buckets", 10_000, least=1, most=10_000), call.query.get("bucket-region", "")
        if region and region != DEFAULT_REGION and _REGION.fullmatch(region) is None:
            message, details = (
                f"Argument value {region} is not a valid AWS Region",
                (("ArgumentName", "bucket-region"),),
            )
            raise S3Error(status=400, code="InvalidArgument", message=message, details=details)
        known = self._store.buckets.values() if region in {"", self._region} else ()
        found = [bucket for bucket in known if bucket.name.startswith(prefix) and bucket.name > after]
        found = [bucket for bucket in found if not bucket.is_directory]
        where = (element("BucketRegion", self._region),) if call.query else ()
        buckets = (
            group(
                "Bucket",
                element("Name", bucket.name),
                element("CreationDate", iso_time(bucket.created_s)),
                element("BucketArn", arn_of(bucket.name)),
                *where,
            )
            for bucket in found[:limit]
        )
        more = [element("ContinuationToken", found[limit - 1].name)] if len(found) > limit else []
        shown = [element("Prefix", prefix)] if prefix else []
        return call.reply(
            200, (), document("ListAllMyBucketsResult", _owner(), group("Buckets", *buckets), *more, *shown)
        )

    def list_directory_buckets(self, call: Call) -> Reply:
        """ListDirectoryBuckets: pages by continuation token."""
        after, limit = call.query.get("continuation-token", ""), call.number("max-directory-buckets", 1000, most=1000)
        found = [bucket for bucket in self._store.buckets.values() if bucket.is_directory and bucket.name > after]
        buckets = (
            group(
                "Bucket",
                element("Name", bucket.name),
                element("CreationDate", iso_time(bucket.created_s)),
                element("BucketRegion", self._region),
                element("BucketArn", directory_arn_of(bucket.name, self._region)),
            )
            for bucket in found[:limit]
        )
        more = [element("ContinuationToken", found[limit - 1].name)] if 0 < limit < len(found) else []
        return call.reply(200, (), document("ListAllMyDirectoryBucketsResult", group("Buckets", *buckets), *more))

    def create(self, call: Call) -> Reply:
        """Make a bucket in the region of this endpoint."""
        is_directory = is_directory_bucket(call.bucket)
        if not (zone_of(call.bucket) if is_directory else valid_name(call.bucket)):
            raise invalid_bucket_name(call.bucket)
        _check_settings(call)
        location_type = ""
        if is_directory:
            location_type, tags = _directory_settings(call)
        else:
            tags = self._configured_tags(call.body)
        bucket = self._store.buckets.get(call.bucket)
        if bucket is not None:
            # us-east-1 responds 200 to the owner of an existing bucket
            # (https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html), other regions do not.
            if self._region != DEFAULT_REGION or tags:
                message = "Your previous request to create the named bucket succeeded and you already own it."
                details = (("BucketName", call.bucket),)
                raise S3Error(status=409, code="BucketAlreadyOwnedByYou", message=message, details=details)
        else:
            if len(self._store.buckets) >= BUCKETS_MAX:
                message = "You have attempted to create more buckets than allowed."
                raise S3Error(status=400, code="TooManyBuckets", message=message)
            made = self._store.make(call.bucket, call.now_s)
            made.tags = tags
            made.location_type = location_type or made.location_type
            if call.fields.get("x-amz-bucket-object-lock-enabled", "").lower() == "true":
                made.is_locking = True
                made.set_versioning(Versioning.ENABLED)
        return call.reply(200, (("Location", f"/{call.bucket}"), ("x-amz-bucket-arn", self._arn_of(call.bucket))))

    def head(self, call: Call) -> Reply:
        """Report that a bucket exists, and its region."""
        bucket = find_bucket(self._store, call.bucket)
        headers = [("x-amz-bucket-region", self._region), ("x-amz-access-point-alias", "false")]
        headers.append(("x-amz-bucket-arn", self._arn_of(call.bucket)))
        if bucket.is_directory:
            headers += [
                ("x-amz-bucket-location-type", bucket.location_type),
                ("x-amz-bucket-location-name", zone_of(call.bucket) or ""),
            ]
        return call.reply(200, headers)

    def delete(self, call: Call) -> Reply:
        """Delete a bucket that holds no version of any key."""
        bucket = find_bucket(self._store, call.bucket)
        if not bucket.empty:
            what = "The bucket you tried to delete is not empty"
            if all(key.current is None for key in bucket.keys.values()):
                what += ". You must delete all versions in the bucket."
            details = (("BucketName", call.bucket),)
            raise S3Error(status=409, code="BucketNotEmpty", message=what, details=details)
        del self._store.buckets[call.bucket]
        return call.reply(204)

    def location(self, call: Call) -> Reply:
        """Report the region; us-east-1 is written as nothing."""
        find_bucket(self._store, call.bucket)
        region = "" if self._region == DEFAULT_REGION else self._region
        return call.reply(200, (), document("LocationConstraint", region))

    def versioning(self, call: Call) -> Reply:
        """Report the versioning state; nothing where it was never set."""
        state = find_bucket(self._store, call.bucket).versioning
        children = () if state is Versioning.NEVER else (element("Status", state.value),)
        return call.reply(200, (), document("VersioningConfiguration", *children))

    def set_versioning(self, call: Call) -> Reply:
        """Enable or suspend versioning."""
        bucket = find_bucket(self._store, call.bucket)
        node = parse_known(call.body, "VersioningConfiguration")
        if (node.text("MfaDelete") or "Disabled") != "Disabled":
            raise not_implemented("MFA delete")
        status = node.text("Status")
        if status is None:
            message = "The Versioning element must be specified"
            raise S3Error(status=400, code="IllegalVersioningConfigurationException", message=message)
        if status not in {Versioning.ENABLED.value, Versioning.SUSPENDED.value}:
            raise malformed("<Status> is neither Enabled nor Suspended")
        if bucket.is_locking and status != Versioning.ENABLED.value:
            message = (
                "An Object Lock configuration is present on this bucket, so the versioning state cannot be changed."
            )
            raise S3Error(status=409, code="InvalidBucketState", message=message)
        bucket.set_versioning(Versioning(status))
        return call.reply(200)

    def tagging(self, call: Call) -> Reply:
        """Give the bucket's tags."""
        bucket = find_bucket(self._store, call.bucket)
        if not bucket.tags:
            message, details = "The TagSet does not exist", (("BucketName", call.bucket),)
            raise S3Error(status=404, code="NoSuchTagSet", message=message, details=details)
        return call.reply(200, (), render_tagging(bucket.tags))

    def set_tagging(self, call: Call) -> Reply:
        """Replace the bucket's tags."""
        find_bucket(self._store, call.bucket).tags = parse_tagging(call.body, "bucket")
        return call.reply(204)

    def delete_tagging(self, call: Call) -> Reply:
        """Remove the bucket's tags."""
        find_bucket(self._store, call.bucket).tags = ()
        return call.reply(204)

    def _configured_tags(self, body: bytes) -> Tags:
        """Read what a new bucket is to be; its tags. Raises `S3Error` where it is to be in another region."""
        asked, tags = None, []
        if body:
            node = parse_known(body, "CreateBucketConfiguration")
            if list(node.all("Bucket")) or list(node.all("Location")):
                raise not_implemented("a location or type of general purpose buckets")
            asked = node.text("LocationConstraint") or None
            tags = [(tag.need("Key"), tag.need("Value")) for tags in node.all("Tags") for tag in tags.all("Tag")]
        if self._region == DEFAULT_REGION and asked is not None and _REGION.fullmatch(asked) is None:
            message, details = "The specified location-constraint is not valid", (("LocationConstraint", asked),)
            raise S3Error(status=400, code="InvalidLocationConstraint", message=message, details=details)
        if (asked or DEFAULT_REGION) != self._region:
            message = (
                f"The {asked or 'unspecified'} location constraint is incompatible for the region specific endpoint "
                "this request was sent to."
            )
            raise S3Error(status=400, code="IllegalLocationConstraintException", message=message)
        if any(key.startswith("aws:") for key, _ in tags):
            message = (
                'User-defined tag keys can\'t start with "aws:". This prefix is reserved for system tags. Remove '
                '"aws:" from your tag keys and try again.'
            )
            raise S3Error(status=400, code="InvalidTag", message=message)
        return checked_tags(tags, "bucket")

    def _arn_of(self, bucket: str) -> str:
        return directory_arn_of(bucket, self._region) if is_directory_bucket(bucket) else arn_of(bucket)


def directory_arn_of(bucket: str, region: str) -> str:
    """Give the ARN of a directory bucket."""
    return f"arn:aws:s3express:{region}:{ACCOUNT_ID}:bucket/{bucket}"


def _directory_settings(call: Call) -> tuple[str, Tags]:
    """Read what a new directory bucket is to be: the type of its location, and its tags.

    Raises `S3Error` where the location is not that of its name.

    https://docs.aws.amazon.com/AmazonS3/latest/API/API_CreateBucket.html
    """
    node = parse_known(call.body, "CreateBucketConfiguration") if call.body else None
    if (
        node is None
        or node.text("LocationConstraint")
        or not list(node.all("Bucket"))
        or not list(node.all("Location"))
    ):
        raise malformed("a directory bucket needs <Location> and <Bucket>, and no <LocationConstraint>")
    location, kind = next(iter(node.all("Location"))), next(iter(node.all("Bucket")))
    location_type = location.need("Type")
    redundancy = _LOCATION_TYPES.get(location_type)
    if kind.need("Type") != "Directory" or redundancy is None or kind.need("DataRedundancy") != redundancy:
        raise malformed("<Type> or <DataRedundancy> is not that of a directory bucket")
    if location.need("Name") != zone_of(call.bucket):
        raise invalid_bucket_name(call.bucket)
    tags = [(tag.need("Key"), tag.need("Value")) for tags in node.all("Tags") for tag in tags.all("Tag")]
    return location_type, checked_tags(tags, "bucket")


def arn_of(bucket: str) -> str:
    """Give the ARN of a bucket."""
    return f"arn:aws:s3:::{bucket}"


def _check_settings(call: Call) -> None:
    """Reject what a new bucket cannot be here. Raises `S3Error`."""
    ownership = call.fields.get("x-amz-object-ownership", "BucketOwnerEnforced")
    if ownership != "BucketOwnerEnforced":
        raise not_implemented(f"object ownership {ownership[:50]}", header="x-amz-object-ownership")
    grants = any(name.startswith("x-amz-grant-") for name in call.fields)
    if grants or call.fields.get("x-amz-acl", "private") != "private":
        message = "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting"
        raise S3Error(status=400, code="InvalidBucketAclWithObjectOwnership", message=message)


def _owner() -> str:
    return group("Owner", element("ID", OWNER), element("DisplayName", OWNER))
