"""Azure Kubernetes Service."""
