"""ComputeDomains as the NVIDIA driver runs them: its controller, and a daemon on every node that takes part.

IMEX itself and memory shared over NVLink are not simulated: a daemon is ready once its pod is.
Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu, main of 2026-08-07.
"""
