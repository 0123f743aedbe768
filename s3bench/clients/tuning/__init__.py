"""What the tuner has to know of clients: their parameters for a workload, the requests they make, their recipes.

`workload` and `parameter` have the types, `client_tuning` what one client declares; `classic` and `crt` are the two
transfer engines that several clients share, `files_and_parts` what those of other programs have in common.
"""
