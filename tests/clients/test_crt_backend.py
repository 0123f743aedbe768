"""What the probe for the CRT reads from a server."""

import pytest

from s3bench.clients.crt_python.driver.s3bench_driver_backend import parse_xml

DOCUMENT = '<?xml version="1.0" encoding="{}"?>{}<ListBucketResult><Name>b</Name></ListBucketResult>'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_listing_with_a_document_type_declaration_is_refused(encoding: str) -> None:
    declaration = '<!DOCTYPE ListBucketResult [<!ENTITY a "b">]>'
    with pytest.raises(ValueError, match="document type declaration"):
        parse_xml(DOCUMENT.format(encoding, declaration).encode(encoding))
    assert parse_xml(DOCUMENT.format(encoding, "").encode(encoding)).findtext("Name") == "b"
