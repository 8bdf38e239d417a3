"""The simulated side of the made-up driver: its node side and its chart."""
