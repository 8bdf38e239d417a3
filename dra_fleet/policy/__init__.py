"""Policy rules: their values, the reading of resources, checks and the gate."""
