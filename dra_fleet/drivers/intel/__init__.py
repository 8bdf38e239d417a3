"""Intel: GPUs."""
