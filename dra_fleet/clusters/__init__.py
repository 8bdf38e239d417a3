"""Views of running clusters: a small Kubernetes client and the checks made before a program runs."""
