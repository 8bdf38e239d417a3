"""NVIDIA: GPUs, MIG partitions, ComputeDomains and the GPU Operator."""
