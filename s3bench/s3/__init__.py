"""S3 on the wire: the protocol, the stub, the emulator, and the server that runs either.

The rest of s3bench uses `endpoint`: `StubEndpoint` and `EmulatorEndpoint` run `server.host` in a process of its own,
which runs `server.server` with a handler (`stub.script.Script` or `emulator.handler.Emulator`, with a `network` model
where one is asked for) and returns a `wirelog.WireLog`.
"""
