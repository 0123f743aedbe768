"""What happens on this machine: workspaces, processes, samplers, and what kind of machine it is."""
