"""One simulated cluster's control plane: etcd, API server, scheduler, controller manager and kwok."""
