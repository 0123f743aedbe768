"""The result of a tuning as text and as Markdown."""
