"""The network model: latency, bandwidth, rate limits and faults between a client and the emulator.

`model` has the parameters, `presets` known links; `networked` imposes it on replies, `server.paced` on connections.
"""
