"""Requests of claims and workloads."""
