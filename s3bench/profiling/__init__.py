"""Profiles of clients: where time and memory of a run go, and what of it differs between two versions."""
