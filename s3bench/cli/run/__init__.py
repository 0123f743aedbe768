"""`s3bench run`: its options, its command, and where its output goes."""
