"""What all resources share: the identity of a stack's objects and the names."""
