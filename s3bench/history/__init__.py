"""The database that remembers results documents, and the figures in them over time."""
