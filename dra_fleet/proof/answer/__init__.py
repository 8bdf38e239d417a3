"""Verdicts of the proof, and their reasons."""
