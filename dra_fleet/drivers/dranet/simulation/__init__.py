"""The node side of DRANET."""
