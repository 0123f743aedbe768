"""Finds the releases at which a metric changed, with the size of each change and its uncertainty (pure rules)."""
