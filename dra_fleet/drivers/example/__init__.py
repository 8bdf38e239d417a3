"""The example driver of the Kubernetes project."""
