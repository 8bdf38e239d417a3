"""Kueue: its chart, its configuration, and the words of its objects."""
