"""Kubelet's calls to a driver over its Unix sockets: identify, prepare claims, unprepare claims.

The messages are those of https://github.com/kubernetes/kubelet/tree/v0.36.3, `pkg/apis/pluginregistration/v1`
and `pkg/apis/dra/v1`; `v1beta1` has the same under another name.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from msgspec import Struct

from dra_fleet.rehearsal.drivers.plugin import PrepareFailed
from dra_fleet.rehearsal.home import LONGEST_SOCKET_PATH

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from dra_fleet.clusters.client import Object

SPOKEN: Final = ("v1.DRAPlugin", "v1beta1.DRAPlugin")
"""The services that kubelets from 1.34 to 1.36 know, the best first.
https://github.com/kubernetes/kubernetes/blob/v1.36.3/pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go"""
DRA_PLUGIN: Final = "DRAPlugin"
"""The kind of plugin, beside CSI drivers and device plugins."""
ASKED_WITHIN: Final = 10.0
PREPARED_WITHIN: Final = 45.0
"""Seconds, as a kubelet waits."""

OPEN_FILES: Final = Path("/proc/self/fd")

_TEXT, _BOOL = descriptor_pb2.FieldDescriptorProto.TYPE_STRING, descriptor_pb2.FieldDescriptorProto.TYPE_BOOL
_ONE = descriptor_pb2.FieldDescriptorProto.LABEL_OPTIONAL
_MANY = descriptor_pb2.FieldDescriptorProto.LABEL_REPEATED
_FIELDS: Final[dict[str, tuple[tuple[str, int | str, Any], ...]]] = {
    "InfoRequest": (),
    "PluginInfo": (
        ("type", _TEXT, _ONE),
        ("name", _TEXT, _ONE),
        ("endpoint", _TEXT, _ONE),
        ("supported_versions", _TEXT, _MANY),
    ),
    "RegistrationStatus": (("plugin_registered", _BOOL, _ONE), ("error", _TEXT, _ONE)),
    "RegistrationStatusResponse": (),
    "Claim": (("namespace", _TEXT, _ONE), ("uid", _TEXT, _ONE), ("name", _TEXT, _ONE)),
    "Claims": (("claims", "Claim", _MANY),),
    "Device": (
        ("request_names", _TEXT, _MANY),
        ("pool_name", _TEXT, _ONE),
        ("device_name", _TEXT, _ONE),
        ("cdi_device_ids", _TEXT, _MANY),
        ("share_id", _TEXT, _ONE),
    ),
    "Prepared": (("devices", "Device", _MANY), ("error", _TEXT, _ONE)),
    "Unprepared": (("error", _TEXT, _ONE),),
    # A map is a list of keys and values: https://protobuf.dev/programming-guides/proto3/#maps
    "PreparedClaim": (("key", _TEXT, _ONE), ("value", "Prepared", _ONE)),
    "UnpreparedClaim": (("key", _TEXT, _ONE), ("value", "Unprepared", _ONE)),
    "PreparedClaims": (("claims", "PreparedClaim", _MANY),),
    "UnpreparedClaims": (("claims", "UnpreparedClaim", _MANY),),
}
"""Each message's fields in the order of their numbers: name, type and how often. Names of messages are
not sent."""


class Registered(Struct, frozen=True, kw_only=True):
    """A driver that a kubelet has registered.

    Attributes:
        name: the driver's, as it says.
        endpoint: the socket that claims are prepared over.
        service: which of `SPOKEN` it speaks.
    """

    name: str
    endpoint: Path
    service: str


class RegistrationFailed(Exception):  # noqa: N818 - a state to show, not a bug
    """A driver that answers, and cannot be registered; the message says why."""


async def register(socket: Path, directory: Path) -> Registered:
    """Ask a driver who it is, and report it whether it is registered.

    Args:
        socket: in the directory that kubelets look for plugins in.
        directory: the driver's working directory, of which its other sockets' paths may be.

    Raises:
        RegistrationFailed: it speaks no version that the kubelet knows, or does not answer.
    """
    with _reachable(socket) as path:
        return await _registered(socket.name, path, directory)


async def _registered(name: str, path: Path, directory: Path) -> Registered:
    async with grpc.aio.insecure_channel(f"unix:{path}") as channel:
        try:
            info = await _call(
                channel, "/pluginregistration.Registration/GetInfo", "InfoRequest", "PluginInfo"
            )
            service = next((one for one in SPOKEN if one in info.supported_versions), None)
            trouble = _refusal(info, service)
            await _call(
                channel,
                "/pluginregistration.Registration/NotifyRegistrationStatus",
                "RegistrationStatus",
                "RegistrationStatusResponse",
                plugin_registered=not trouble,
                error=trouble,
            )
        except grpc.aio.AioRpcError as error:
            raise RegistrationFailed(f"its socket {name} does not answer: {_reported(error)}") from error
    if trouble or service is None:
        raise RegistrationFailed(trouble)
    return Registered(name=info.name, endpoint=directory / info.endpoint, service=service)


@contextmanager
def _reachable(socket: Path) -> Generator[Path]:
    """Yield a path of a socket short enough for a kernel, by its open directory (unix(7), proc(5))."""
    if (
        len(os.fsencode(socket)) <= LONGEST_SOCKET_PATH
        or not OPEN_FILES.is_dir()
        or not socket.parent.is_dir()
    ):
        yield socket
        return
    directory = os.open(socket.parent, os.O_RDONLY)
    try:
        yield OPEN_FILES / str(directory) / socket.name
    finally:
        os.close(directory)


def _refusal(info: Any, service: str | None) -> str:  # noqa: ANN401 - a message of a class made here
    if info.type != DRA_PLUGIN:
        return f"it registers as a plugin of type {info.type!r}; a driver's is {DRA_PLUGIN!r}"
    if service is None:
        offered = ", ".join(info.supported_versions) or "none"
        return f"it registers with {offered}; this kubelet speaks {' and '.join(SPOKEN)}"
    return ""


async def prepare(driver: Registered, claim: Object) -> Sequence[str]:
    """NodePrepareResources for one claim; returns the CDI devices that its containers get.

    Raises:
        PrepareFailed: with the driver's own text, or why there is none.
    """
    answer = await _ask(driver, "NodePrepareResources", claim, "PreparedClaims")
    return [device for item in answer.devices for device in item.cdi_device_ids]


async def unprepare(driver: Registered, claim: Object) -> None:
    """NodeUnprepareResources for one claim.

    Raises:
        PrepareFailed: with the driver's own text, or why there is none.
    """
    await _ask(driver, "NodeUnprepareResources", claim, "UnpreparedClaims")


async def _ask(driver: Registered, method: str, claim: Object, answers: str) -> Any:  # noqa: ANN401 - as above
    meta = claim["metadata"]
    requested = message("Claim")(namespace=meta["namespace"], uid=meta["uid"], name=meta["name"])
    path = f"/k8s.io.kubelet.pkg.apis.dra.{driver.service}/{method}"
    with _reachable(driver.endpoint) as socket:
        async with grpc.aio.insecure_channel(f"unix:{socket}") as channel:
            try:
                reported = await _call(
                    channel, path, "Claims", answers, within=PREPARED_WITHIN, claims=[requested]
                )
            except grpc.aio.AioRpcError as error:
                raise PrepareFailed(_reported(error)) from error
    answer = next((item.value for item in reported.claims if item.key == meta["uid"]), None)
    if answer is None:
        raise PrepareFailed(f"the driver's answer to {method} leaves the claim out")
    if answer.error:
        raise PrepareFailed(answer.error)
    return answer


def _reported(error: grpc.aio.AioRpcError) -> str:
    """Format an error of a call as Go's library does, which kubelets log."""
    name = "".join(part.title() for part in error.code().name.split("_"))
    return f"rpc error: code = {name} desc = {error.details()}"


async def _call(
    channel: grpc.aio.Channel,
    path: str,
    request: str,
    answer: str,
    *,
    within: float = ASKED_WITHIN,
    **fields: object,
) -> Any:  # noqa: ANN401 - as above
    call = channel.unary_unary(
        path,
        request_serializer=message(request).SerializeToString,
        response_deserializer=message(answer).FromString,
    )
    return await call(message(request)(**fields), timeout=within)


def message(name: str) -> Any:  # noqa: ANN401 - as above
    """Return the class of a message, by its name in `_FIELDS`."""
    return _messages()[name]


@cache
def _messages() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(name="kubelet.proto", package="kubelet", syntax="proto3")
    for name, fields in _FIELDS.items():
        made = file.message_type.add(name=name)
        for number, (field, kind, often) in enumerate(fields, start=1):
            place = f".kubelet.{kind}" if isinstance(kind, str) else None
            kind_of = descriptor_pb2.FieldDescriptorProto.TYPE_MESSAGE if place else kind
            made.field.add(name=field, number=number, label=often, type=kind_of, type_name=place)  # pyright: ignore[reportArgumentType] - numbers of enums
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)  # pyright: ignore[reportUnknownMemberType] - the library's stubs leave it out
    found = {name: pool.FindMessageTypeByName(f"kubelet.{name}") for name in _FIELDS}
    return {name: message_factory.GetMessageClass(kind) for name, kind in found.items()}
