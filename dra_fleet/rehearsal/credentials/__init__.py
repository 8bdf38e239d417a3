"""Stand-ins for the clouds' credential helpers: they answer kubeconfigs' exec plugins from the world."""
