"""Published devices of pools: predicted, or recorded from nodes."""
