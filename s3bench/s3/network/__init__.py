"""The network model: what stands between a client and the emulator on a real link.

`model` says what is asked for, `presets` has known links; draws, limits and lanes impose it on replies and connections.
"""
