"""Alibaba Cloud's Container Service for Kubernetes."""
