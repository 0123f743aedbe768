"""S3 on the wire: the protocol (pure), the stub's script, the emulator, and the server that speaks for both.

`endpoint` is the door for the rest of s3bench: `StubEndpoint` and `EmulatorEndpoint` run `host` in a process of its
own, which drives `server` (the epoll loop) with a handler (`stub.Script` or `emulator.handler.Emulator`, behind a
`network` model where one is asked for) and answers with a `wirelog.WireLog`.
"""
