"""Objects of the drivers' own."""
