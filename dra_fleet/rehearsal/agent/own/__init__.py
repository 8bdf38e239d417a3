"""The drivers' own programs on simulated nodes, and the kubelet's side of what they speak."""
