"""The node side of the Kubernetes project's example driver."""
