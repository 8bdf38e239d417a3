"""What DRA drivers have in common."""
