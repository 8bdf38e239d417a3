"""The node side of the CPU driver."""
