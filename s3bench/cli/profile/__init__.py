"""`s3bench profile`: options, what it runs, and what it writes."""
