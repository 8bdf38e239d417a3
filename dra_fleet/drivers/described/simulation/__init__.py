"""The node side of drivers that stack files describe."""
