"""Clusters that already exist."""
