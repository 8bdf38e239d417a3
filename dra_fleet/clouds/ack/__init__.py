"""Alibaba Cloud's Container Service for Kubernetes: met in others' programs, not built by this one."""
