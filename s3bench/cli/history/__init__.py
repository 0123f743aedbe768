"""`s3bench history`: its store, its commands, and `trend`."""
