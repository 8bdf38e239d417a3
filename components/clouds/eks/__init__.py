"""EKS clusters and their node groups."""
