"""`s3bench doctor`: what on this machine disturbs measurements."""
