"""What the workers recorded, added up: per-second statistics, the phase's result, bottlenecks and objectives."""
