"""What the proof says: fits, misses and why."""
