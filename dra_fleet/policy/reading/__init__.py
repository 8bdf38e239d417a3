"""How the things that rules judge are written in each provider's resources."""
