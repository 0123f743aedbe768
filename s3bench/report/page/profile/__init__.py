"""Profiles in the page: the flame graph of one or of two, tables of functions, and their section."""
