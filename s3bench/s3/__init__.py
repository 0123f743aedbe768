"""S3 on the wire: the protocol (pure), the stub's script (pure), and the server that speaks both over sockets.

`endpoint.StubEndpoint` is the door for the rest of s3bench: it runs `host` in a process of its own, which drives
`server` (the epoll loop) with a `stub.Script` as its handler and answers with a `wirelog.WireLog`.
"""
