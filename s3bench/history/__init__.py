"""The history: a database of results documents, and of their figures over time."""
