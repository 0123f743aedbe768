"""The answer of a tuning as text and as Markdown."""
