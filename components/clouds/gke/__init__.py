"""GKE clusters and their node pools."""
