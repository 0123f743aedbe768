"""Finds where a metric changed over many releases, by how much, and how sure that is. Pure."""
