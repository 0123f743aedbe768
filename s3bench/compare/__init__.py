"""Compares results documents, or groups of results within them: pure rules and the comparison's JSON form."""
