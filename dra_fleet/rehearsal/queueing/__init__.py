"""Kueue in a rehearsal: its own controller, built from its module, and the chart that lies beside it."""
