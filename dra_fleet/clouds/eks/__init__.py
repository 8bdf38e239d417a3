"""Amazon Elastic Kubernetes Service."""
