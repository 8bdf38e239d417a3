"""Resource plugins that stand in for published ones where the network has none.

Each is an executable the real engine starts and speaks its own protocol with; nothing in a program knows.
"""

from dra_fleet.rehearsal.providers.installing import (
    Plugin,
    cloud_plugin,
    install,
    kubernetes_served_by,
)

__all__ = ["Plugin", "cloud_plugin", "install", "kubernetes_served_by"]
