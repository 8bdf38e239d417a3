"""Kubernetes SIGs: CPUs."""
