"""The Kubernetes project's example devices."""
