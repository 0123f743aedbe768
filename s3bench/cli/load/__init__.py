"""`s3bench load`: its options, checks, plan, live view, command and output."""
