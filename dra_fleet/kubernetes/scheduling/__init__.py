"""Where Kubernetes lets a pod run, by the labels of nodes and by their taints: judged here alone."""
