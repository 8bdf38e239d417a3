"""What claims and workloads ask for."""
