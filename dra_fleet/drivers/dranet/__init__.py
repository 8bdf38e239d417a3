"""Kubernetes SIGs, AWS and Google: network cards."""
