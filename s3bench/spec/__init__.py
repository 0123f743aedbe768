"""What is to be measured: definitions as JSON, as types, and as a plan.

The way of the data: `parse` (JSON text to `definition.Definition`, by the keys of `table`) and `plan` (definitions and
clients to cells to run). `command` understands S3 transfer commands. Nothing here touches the machine but
`parse.read_definitions`, which reads the one file it is given.
"""
