"""Helpers for several DRA drivers."""
