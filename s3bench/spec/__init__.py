"""Benchmark definitions: their types, their JSON format and all checks.

`parse` turns JSON text into `definition.Definition` by the keys of `table`; `command` parses S3 transfer commands.
Everything is pure except `parse.read_definitions`, which reads one file and, by `like`, the sizes that it names.
"""
