"""Placement of pods by the labels and taints of nodes."""
