"""Access logs of S3 servers and traces of load tools, read line by line as logged requests."""
