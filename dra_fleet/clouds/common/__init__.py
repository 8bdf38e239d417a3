"""What several clouds have in common."""
