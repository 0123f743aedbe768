"""`s3bench tune`: its options, its command, its study file and its output."""
