"""Google: TPU chips."""
