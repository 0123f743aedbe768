"""A profile as text: where the time of a client goes, and what differs between two."""
