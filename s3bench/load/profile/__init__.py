"""Load profiles: read from YAML, JSON, s4's configuration or options, checked, and kept as types."""
