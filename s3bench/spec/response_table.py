"""The keys of `responses[]` (status, headers, body, matching), with types, limits, defaults and meanings."""

from s3bench.spec.compound import ByKey, Either, Pairs, Record, RecordKey
from s3bench.spec.definition import FileBody, ListingBody, RequestMatch, Response
from s3bench.spec.header import FIELD_NAME, FIELD_VALUE, METHOD, PATH, QUERY_NAME, QUERY_VALUE
from s3bench.spec.names import BODY_NAME, FIXTURE_NAME
from s3bench.spec.reader import Complaint, JsonObject, quoted
from s3bench.spec.shape import FixedWord, Seconds, Text, TextRule, WholeNumber

INSTANCES_MAX = 1_000_000_000
DELAY_S_MAX = 86_400


def _check_prefix(prefix: str) -> Complaint | None:
    # XML 1.0 does not allow them, not even escaped (section 2.2).
    if any(character < " " for character in prefix):
        return Complaint(f"is {quoted(prefix)}: it has control characters", "use only printable characters")
    return None


KEY_PREFIX = TextRule(check=_check_prefix, pattern=r"^[^\u0000-\u001f]*$")


FILE_BODY = Record(
    make=FileBody,
    noun="an object with `file`",
    wrong_kind_fix='write the body as a string, or {"file": "NAME"}',
    keys=(
        RecordKey(
            name="file",
            shape=Text(rule=BODY_NAME),
            required=True,
            meaning="The name of a file of the `environment`, whose contents are the body. A `*` is replaced by "
            "the characters that matched the `*` of `match.path`.",
            examples=("test_file", "test_dir/file-000000", "test_dir/*"),
        ),
    ),
)

LISTING_BODY = Record(
    make=ListingBody,
    noun="an object with `listing`",
    keys=(
        RecordKey(
            name="listing",
            becomes="directory",
            shape=Text(rule=FIXTURE_NAME),
            required=True,
            meaning="The name of a directory of `environment.file_dirs` or `file_trees`, whose files are listed as by "
            "ListObjectsV2, 1,000 to a page.",
            examples=("test_dir",),
        ),
        RecordKey(
            name="prefix",
            shape=Text(rule=KEY_PREFIX),
            meaning="What the key of each listed object begins with; the file's name follows.",
            default="",
            examples=("test_dir/",),
        ),
    ),
)


MATCH = Record(
    make=RequestMatch,
    noun="a match",
    keys=(
        RecordKey(
            name="method",
            shape=Text(rule=METHOD),
            meaning="The request's method, in upper case. Left out: any.",
            examples=("GET",),
        ),
        RecordKey(
            name="path",
            shape=Text(rule=PATH),
            meaning="The request's decoded URL path (path-style, so `/bucket/key`), `*` standing for any run of "
            "characters. Left out: any.",
            examples=("/bucket/test_file", "/bucket/*"),
        ),
        RecordKey(
            name="query",
            shape=Pairs(name_rule=QUERY_NAME, value=Text(rule=QUERY_VALUE)),
            meaning="Query parameters that the request must have; an empty value means present with any value.",
            default={},
            examples=({"uploads": ""},),
        ),
    ),
)


RESPONSE = Record(
    make=Response,
    noun="a response",
    keys=(
        RecordKey(
            name="status_code",
            shape=WholeNumber(minimum=200, maximum=599, why_maximum="RFC 9110, section 15"),
            meaning="The status code of the response, 200 to 599: after an interim response (1xx) a client waits for "
            "the final one.",
            default=200,
        ),
        RecordKey(
            name="headers",
            shape=Pairs(name_rule=FIELD_NAME, value=Text(rule=FIELD_VALUE)),
            meaning="The response's headers: names and values.",
            default={},
            examples=({"ETag": '"etag"'},),
        ),
        RecordKey(
            name="body",
            shape=Either(
                usual=Text(),
                special=ByKey(usual=FILE_BODY, special=LISTING_BODY),
                special_type=JsonObject,
            ),
            meaning="The raw response body: a string, sent as UTF-8, a file of the environment, or a listing of one of "
            "its directories.",
            default="",
        ),
        RecordKey(
            name="instances",
            shape=Either(
                usual=WholeNumber(minimum=1, maximum=INSTANCES_MAX),
                special=FixedWord(word="any", means=None),
                special_type=str,
            ),
            meaning='How many requests get this response. `"any"`, with `match` only: as many as come, none included.',
            default=1,
        ),
        RecordKey(
            name="match",
            shape=MATCH,
            meaning="Which requests get this response; each request takes the first response not yet used up that fits "
            "it. Left out: any request.",
            examples=({"method": "GET", "path": "/bucket/*"},),
        ),
        RecordKey(
            name="delay",
            becomes="delay_s",
            shape=Seconds(maximum=DELAY_S_MAX),
            meaning="Seconds to wait before the response's first byte.",
            default=0,
        ),
    ),
)
