"""`s3bench describe`."""
