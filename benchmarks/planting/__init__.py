"""Changes of known cause and place, planted into copies of clients."""
