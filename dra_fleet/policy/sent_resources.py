"""Resources as the engine sends them to a pack, as rules see them."""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING

from dra_fleet.core.declared.resources import Provider, Resource
from dra_fleet.policy.decoding import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pulumi.runtime.proto import analyzer_pb2

    Read = Callable[[], Mapping[str, object]]


def reading(sent: analyzer_pb2.AnalyzeRequest | analyzer_pb2.AnalyzerResource) -> Read:
    """The inputs of a resource, decoded when first asked for."""
    return cache(partial(decode, sent.properties))


def resource_of(sent: analyzer_pb2.AnalyzeRequest | analyzer_pb2.AnalyzerResource, read: Read) -> Resource:
    """A resource with these inputs."""
    provider = None
    if sent.HasField("provider"):
        by = sent.provider
        provider = Provider(type=by.type, name=by.name, urn=by.urn, read=lambda: decode(by.properties))
    options = sent.options
    return Resource(
        type=sent.type,
        name=sent.name,
        urn=sent.urn,
        protect=options.protect,
        delete_before_replace=options.deleteBeforeReplace if options.deleteBeforeReplaceDefined else None,
        ignore_changes=tuple(options.ignoreChanges),
        parent=options.parent,
        provider=provider,
        read=read,
    )
