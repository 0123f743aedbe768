"""`s3bench history`: its commands, their options, and `trend`."""
