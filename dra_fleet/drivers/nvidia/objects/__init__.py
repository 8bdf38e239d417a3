"""The NVIDIA driver's own API objects."""
