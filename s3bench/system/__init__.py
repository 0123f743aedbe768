"""What s3bench needs of the operating system: an event loop, child processes with a channel, files in memory.

What only Linux has stands here beside a portable implementation; see `portable`.
"""
