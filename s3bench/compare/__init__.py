"""Compares results documents or groups within them.

Which results belong together, what differs, how sure that is. Pure.
"""
