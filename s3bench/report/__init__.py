"""Reports: documents and records as text, Markdown, HTML and machine formats. Pure: nothing is written to files."""
