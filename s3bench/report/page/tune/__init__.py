"""Sections of the page about a tuning."""
