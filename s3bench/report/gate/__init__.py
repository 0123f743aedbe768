"""A gate's record as text, Markdown, JUnit XML and annotations."""
