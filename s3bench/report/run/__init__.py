"""The results of client runs, in one module a format."""
