"""The metadata of objects, as drivers in Go decode it.

Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/apis/meta/v1/types.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dra_fleet.rehearsal.drivers.decoding import ANYTHING, BOOL, INT64, STRING, Go

if TYPE_CHECKING:
    from collections.abc import Mapping


def items(name: str, fields: Mapping[str, Go]) -> Go:
    """Return a list of structures, or of pointers to them."""
    return Go(f"[]{name}", list, {"*": Go(name, dict, fields)})


_WORDS: Final = Go("map[string]string", dict, {"*": STRING})
_UID: Final = Go("types.UID", str)
_OWNER: Final = {
    "apiVersion": STRING,
    "kind": STRING,
    "name": STRING,
    "uid": _UID,
    "controller": BOOL,
    "blockOwnerDeletion": BOOL,
}
_MANAGER: Final = {
    "manager": STRING,
    "operation": Go("v1.ManagedFieldsOperationType", str),
    "apiVersion": STRING,
    "time": STRING,
    "fieldsType": STRING,
    "fieldsV1": ANYTHING,
    "subresource": STRING,
}
METADATA: Final = Go(
    "v1.ObjectMeta",
    dict,
    {
        "name": STRING,
        "generateName": STRING,
        "namespace": STRING,
        "selfLink": STRING,
        "uid": _UID,
        "resourceVersion": STRING,
        "generation": INT64,
        "creationTimestamp": STRING,
        "deletionTimestamp": STRING,
        "deletionGracePeriodSeconds": INT64,
        "labels": _WORDS,
        "annotations": _WORDS,
        "ownerReferences": items("v1.OwnerReference", _OWNER),
        "finalizers": Go("[]string", list, {"*": STRING}),
        "managedFields": items("v1.ManagedFieldsEntry", _MANAGER),
    },
)
"""Times are read as text: what is not a time is not reported."""
