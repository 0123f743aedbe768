"""HTTP and S3 as bytes: heads, body framing, ranges, checksums and error documents. Pure."""
