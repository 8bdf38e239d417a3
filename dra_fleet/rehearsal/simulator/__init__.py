"""The simulator: one process per home that holds the simulated clusters and what runs in them."""
