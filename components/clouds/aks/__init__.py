"""AKS clusters and their pools."""
