"""Resource plugins that stand in for published ones where the network has none.

Each is an executable the real engine starts and speaks its own protocol with; nothing in a program knows.
"""

from dra_fleet.rehearsal.providers.installing import (
    CLOUD_PLUGINS,
    Plugin,
    PublishedPlugin,
    install,
    published_plugin,
)

__all__ = ["CLOUD_PLUGINS", "Plugin", "PublishedPlugin", "install", "published_plugin"]
