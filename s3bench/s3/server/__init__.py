"""The server: one process, one epoll loop, and the connections on it."""
