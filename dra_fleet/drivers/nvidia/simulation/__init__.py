"""The node side of NVIDIA's driver."""
