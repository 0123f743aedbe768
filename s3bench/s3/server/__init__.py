"""The server: one process, one event loop, and the connections on it."""
