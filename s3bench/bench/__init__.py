"""Runs definitions on clients: `runner` is the seam, `local` its implementation here, `suite` runs a whole plan."""
