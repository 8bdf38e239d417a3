"""Resource plugins of a rehearsal: the Kubernetes provider, and the plugins of simulated clouds.

Each is an executable the real engine starts and speaks its own protocol with; nothing in a program knows.
"""

from dra_fleet.rehearsal.providers.installing import Plugin, cloud_plugin, install, install_kubernetes

__all__ = ["Plugin", "cloud_plugin", "install", "install_kubernetes"]
