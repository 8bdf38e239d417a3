"""Clusters that already exist, wherever they run."""
