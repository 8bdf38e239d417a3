"""The NVIDIA GPU Operator, simulated: where its pods run, they do to the cluster what the real ones do.

The operator's pod reads the ClusterPolicy object and makes the operands' DaemonSets; the operands' pods
install a driver, label nodes, cut GPUs into partitions and advertise resources, each with its own token.
Sources: https://github.com/NVIDIA/gpu-operator (v25.10.0, v26.7.0), https://github.com/NVIDIA/mig-parted,
https://github.com/kubernetes-sigs/node-feature-discovery.
"""
