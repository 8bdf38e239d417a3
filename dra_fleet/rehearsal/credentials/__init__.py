"""Simulated credential helpers of the clouds: they answer kubeconfigs' exec plugins from the simulator."""
