"""Thin plugins of all simulated clouds, which forward each call to the simulator."""
