"""What runs inside the process of a client under test: standard library and the client's own SDK alone.

Python 3.9 to 3.14, since aws-cli brings its own interpreter. Kept small: its time is counted as the client's.
"""
