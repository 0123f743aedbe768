"""`s3bench serve`: its options, its command, and its output while it runs."""
