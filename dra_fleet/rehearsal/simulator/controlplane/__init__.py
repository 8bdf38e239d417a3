"""Control plane of a simulated cluster: etcd, API server, scheduler, controller manager and kwok."""
