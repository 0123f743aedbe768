"""Recording: a command run once through an endpoint of ours becomes a benchmark definition."""
