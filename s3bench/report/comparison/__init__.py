"""A comparison as text and as Markdown."""
