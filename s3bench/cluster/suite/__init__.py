"""A suite on many machines: what is shared out, what runs on a node, and how it becomes one run again."""
