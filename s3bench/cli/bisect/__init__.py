"""`s3bench bisect`: its options, the search it runs, and what it prints."""
