"""Where an API server has the objects of a kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ApiResource:
    """Where a kind lives: its group/version, plural and scope."""

    api_version: str
    kind: str
    plural: str
    namespaced: bool

    def path(self, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
        """The URL path of a collection, an object or a subresource."""
        parts = [root_of(self.api_version)]
        if self.namespaced and namespace:
            parts += ["namespaces", namespace]
        parts += [self.plural, *([name] if name else []), *([subresource] if subresource else [])]
        return "/".join(parts)


def root_of(api_version: str) -> str:
    """The URL path of a group and version."""
    return f"/{'apis' if '/' in api_version else 'api'}/{api_version}"
