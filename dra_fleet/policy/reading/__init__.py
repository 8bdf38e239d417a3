"""Reading of each provider's resources for the rules."""
