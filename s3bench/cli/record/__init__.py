"""`s3bench record`: its options, its command, and what it tells."""
