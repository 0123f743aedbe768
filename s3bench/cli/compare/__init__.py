"""`s3bench compare`: its options, and the comparison it prints."""
