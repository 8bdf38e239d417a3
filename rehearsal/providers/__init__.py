"""Resource plugins that stand in for published ones where the network has none.

Each is an executable the real engine starts and speaks its own protocol with; nothing in a program knows.
"""

from rehearsal.providers.installing import PublishedPlugin, install, published_plugin

__all__ = ["PublishedPlugin", "install", "published_plugin"]
