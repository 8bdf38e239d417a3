"""Reads YAML files that anybody may have written: bounded in time and memory, each value with its place."""

from dra_fleet.yaml_text.documents import MAX_BYTES, Document, Path, read_documents
from dra_fleet.yaml_text.nodes import MAX_DEPTH, MAX_VALUES, Place, Unreadable

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_VALUES",
    "Document",
    "Path",
    "Place",
    "Unreadable",
    "read_documents",
]
