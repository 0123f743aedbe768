"""`s3bench gate`: its options, its command, its output, and `--self-test`."""
