"""`s3bench serve`: its options, its command, and what it says while it runs."""
