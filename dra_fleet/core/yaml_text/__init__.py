"""Reads YAML and JSON that anybody may have written, bounded in time and memory; YAML with places."""

from dra_fleet.core.yaml_text.documents import (
    MANIFEST_BYTES,
    MAX_BYTES,
    Document,
    Path,
    Torn,
    read_documents,
    read_each,
)
from dra_fleet.core.yaml_text.json_values import (
    MAX_JSON_BYTES,
    MAX_JSON_DEPTH,
    MAX_LINE_BYTES,
    bounded_lines,
    read_json,
    read_json_file,
)
from dra_fleet.core.yaml_text.nodes import MAX_DEPTH, MAX_VALUES, Place, Unreadable

__all__ = [
    "MANIFEST_BYTES",
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_JSON_BYTES",
    "MAX_JSON_DEPTH",
    "MAX_LINE_BYTES",
    "MAX_VALUES",
    "Document",
    "Path",
    "Place",
    "Torn",
    "Unreadable",
    "bounded_lines",
    "read_documents",
    "read_each",
    "read_json",
    "read_json_file",
]
