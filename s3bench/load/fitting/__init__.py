"""Models of workloads, fitted to the requests of an access log, and the load profiles that express them."""
