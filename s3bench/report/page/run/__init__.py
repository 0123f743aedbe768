"""Sections of the page about the results of client runs."""
