"""Sections of the page about a gate."""
