"""The stub: scripted responses, and which request takes which."""
