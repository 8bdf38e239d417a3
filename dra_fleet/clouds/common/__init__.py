"""Helpers for several clouds."""
