"""The load generator on many machines: a node's workers, the driver's view, and the engine that spreads them."""
