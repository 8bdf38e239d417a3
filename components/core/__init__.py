"""Identity and names of a stack's objects, for all resources."""
