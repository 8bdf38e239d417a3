"""The NVIDIA driver's own objects."""
