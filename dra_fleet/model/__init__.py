"""The plain frozen values that rooms hand on: pools, clusters, releases, nodes, published devices."""
