"""Kubernetes itself: minors, API objects, quantities, names and scheduling."""
