"""What all components share: the base class, the identity of a stack's objects and the names."""
