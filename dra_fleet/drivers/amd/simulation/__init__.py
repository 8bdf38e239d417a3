"""The node side of AMD's driver."""
