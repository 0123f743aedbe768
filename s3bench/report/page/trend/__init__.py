"""Sections of the page about trends."""
