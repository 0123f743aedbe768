"""`s3bench tune`: its command, its options, its study file and its output."""
