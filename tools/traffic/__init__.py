"""Real programs over an emulated path, and their workload simulated over the same path."""
