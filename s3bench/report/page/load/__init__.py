"""Sections of the page about a load run."""
