"""The engine's side of a cloud's plugin: every call of the protocol, handed on to the simulator."""

# ruff: noqa: N802, ARG002 - the protocol's own names and parameters

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING, Any, Final

import grpc
import httpx2
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2

from dra_fleet.rehearsal.clouds.cloud import UNKNOWN_TEXT
from dra_fleet.rehearsal.home import Home
from dra_fleet.rehearsal.providers.plugin_servicer import Answering, PluginServicer, reported
from dra_fleet.rehearsal.providers.properties import (
    UNKNOWN,
    Properties,
    SecretValue,
    UnknownValue,
    decode,
    encode,
    plain,
    with_secrets_of,
    without_nulls,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from google.protobuf.struct_pb2 import Struct

    from dra_fleet.rehearsal.clouds.simulation import CloudPlugin
    from dra_fleet.rehearsal.providers.plugin_servicer import Context


LONGEST: Final = 600.0
"""Seconds for one call; a cluster with many nodes on a busy machine is the longest."""


class SimulatorRefusedError(Exception):
    """The simulator refused, or does not answer; the text is for the user."""


class CloudInWorld:
    """A simulated cloud, called over the simulator's Unix socket."""

    def __init__(self, cloud: str) -> None:
        self._home = Home.default()
        self._cloud = cloud

    async def ask(self, action: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Forward one call.

        Raises:
            SimulatorRefusedError: the cloud refuses, or no simulator answers.
        """
        # Nothing on a Unix socket is verified, and reading the system's authorities takes 40 ms each time.
        transport = httpx2.AsyncHTTPTransport(uds=str(self._home.socket), verify=False)
        try:
            async with httpx2.AsyncClient(
                transport=transport, base_url="http://simulator", timeout=LONGEST, trust_env=False
            ) as client:
                response = await client.post(f"/v1/clouds/{self._cloud}/{action}", json=body)
        except httpx2.TransportError as error:
            raise SimulatorRefusedError(
                f"no simulator answers on {self._home.socket} ({error or type(error).__name__}); "
                "start it with `dra-fleet rehearse up`"
            ) from error
        answer: dict[str, Any] = response.json()
        if response.is_error:
            raise SimulatorRefusedError(str(answer["error"]))
        return answer


class CloudAnswering(Answering):
    """Stands between the engine and every call of a cloud's plugin."""

    async def refuse(self, request: object, context: Context, error: Exception) -> None:
        """Hand on the simulated cloud's own words."""
        if isinstance(error, SimulatorRefusedError):
            await context.abort(grpc.StatusCode.FAILED_PRECONDITION, reported(request, str(error)))


DIGITS: Final = 8


class CloudServicer(PluginServicer):
    """Provider of one program.

    Args:
        plugin: whose place it takes.
        simulator: where the cloud is simulated.
    """

    def __init__(self, plugin: CloudPlugin, simulator: CloudInWorld) -> None:
        super().__init__(plugin.name, plugin.version)
        self._plugin = plugin
        self._simulator = simulator
        self._config: Properties = {}

    async def Handshake(
        self, request: provider_pb2.ProviderHandshakeRequest, context: object
    ) -> provider_pb2.ProviderHandshakeResponse:
        """Say what this plugin understands."""
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    async def CheckConfig(
        self, request: provider_pb2.CheckRequest, context: object
    ) -> provider_pb2.CheckResponse:
        """Check a provider's own settings."""
        unknown = sorted(set(decode(request.news)) - self._plugin.settings - {"version"})
        allowed = ", ".join(sorted(self._plugin.settings))
        failures = [
            provider_pb2.CheckFailure(
                property=key, reason=f"{key!r} is not a setting of this provider; allowed: {allowed}"
            )
            for key in unknown
        ]
        return provider_pb2.CheckResponse(inputs=request.news, failures=failures)

    async def DiffConfig(
        self, request: provider_pb2.DiffRequest, context: object
    ) -> provider_pb2.DiffResponse:
        """Another subscription, say, holds other resources; everything else is an update."""
        old, new = decode(request.old_inputs), decode(request.news)
        keys = [key for key in sorted({*old, *new}) if plain(old.get(key)) != plain(new.get(key))]
        return provider_pb2.DiffResponse(
            changes=_some(keys), diffs=keys, replaces=[key for key in keys if key in self._plugin.replacing]
        )

    async def Configure(
        self, request: provider_pb2.ConfigureRequest, context: object
    ) -> provider_pb2.ConfigureResponse:
        """Take the settings."""
        self._config = _json(decode(request.args))
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    async def Invoke(
        self, request: provider_pb2.InvokeRequest, context: object
    ) -> provider_pb2.InvokeResponse:
        """Answer a function."""
        arguments = _json(without_nulls(decode(request.args)))
        result = await self._simulator.ask(
            "invoke", {"token": request.tok, "arguments": arguments, "config": self._config}
        )
        if request.tok in self._plugin.secret_results:
            result = {key: SecretValue(value) for key, value in result.items()}
        answer = provider_pb2.InvokeResponse()
        getattr(answer, "return").CopyFrom(encode(result))
        return answer

    async def Check(self, request: provider_pb2.CheckRequest, context: object) -> provider_pb2.CheckResponse:
        """Complete and check a resource's inputs."""
        news = without_nulls(decode(request.news))
        body = {**self._about(request.urn), "olds": _json(decode(request.olds)), "news": _json(news)}
        answer = await self._simulator.ask("check", {**body, "digits": _digits(request.randomSeed)})
        failures = [
            provider_pb2.CheckFailure(property=item["path"], reason=item["reason"])
            for item in answer["failures"]
        ]
        return provider_pb2.CheckResponse(inputs=_encoded(answer["inputs"], news), failures=failures)

    async def Diff(self, request: provider_pb2.DiffRequest, context: object) -> provider_pb2.DiffResponse:
        """Say what an update would do."""
        olds, news = _json(decode(request.old_inputs)), _json(decode(request.news))
        for path in request.ignoreChanges:
            _keep(olds, news, path.split("[")[0].split("."))
        about = self._about(request.urn, request.id)
        change = await self._simulator.ask("diff", {**about, "olds": olds, "news": news})
        detailed = {
            path: provider_pb2.PropertyDiff(
                kind=provider_pb2.PropertyDiff.UPDATE_REPLACE
                if path in change["replacing"]
                else provider_pb2.PropertyDiff.UPDATE,
                inputDiff=True,
            )
            for path in change["changed"]
        }
        return provider_pb2.DiffResponse(
            changes=_some(change["changed"]),
            replaces=change["replacing"],
            diffs=change["changed"],
            detailedDiff=detailed,
            hasDetailedDiff=True,
            deleteBeforeReplace=bool(change["replacing"]) and not change["beside"],
        )

    async def Create(
        self, request: provider_pb2.CreateRequest, context: object
    ) -> provider_pb2.CreateResponse:
        """Create a resource."""
        news = decode(request.properties)
        body = {**self._about(request.urn), "news": _json(news), "preview": request.preview}
        found = await self._simulator.ask("create", body)
        return provider_pb2.CreateResponse(id=found["identifier"], properties=_encoded(found["state"], news))

    async def Update(
        self, request: provider_pb2.UpdateRequest, context: object
    ) -> provider_pb2.UpdateResponse:
        """Change a resource."""
        news = decode(request.news)
        body = {**self._about(request.urn, request.id), "preview": request.preview, "news": _json(news)}
        found = await self._simulator.ask("update", {**body, "olds": _json(decode(request.old_inputs))})
        return provider_pb2.UpdateResponse(properties=_encoded(found["state"], news))

    async def Read(self, request: provider_pb2.ReadRequest, context: object) -> provider_pb2.ReadResponse:
        """Read a resource as it is."""
        found = await self._simulator.ask("read", self._about(request.urn, request.id))
        if not found:
            return provider_pb2.ReadResponse(id="")
        marks = {**decode(request.properties), **decode(request.inputs)}
        return provider_pb2.ReadResponse(
            id=found["identifier"],
            properties=_encoded(found["state"], marks),
            inputs=_encoded(found["inputs"], marks),
        )

    async def Delete(self, request: provider_pb2.DeleteRequest, context: object) -> empty_pb2.Empty:
        """Delete a resource."""
        await self._simulator.ask("delete", self._about(request.urn, request.id))
        return empty_pb2.Empty()

    async def Cancel(self, request: empty_pb2.Empty, context: object) -> empty_pb2.Empty:
        """Do nothing: the cloud finishes the operations that it began, as a real one does."""
        return empty_pb2.Empty()

    def _about(self, urn: str, identifier: str = "") -> dict[str, Any]:
        kind = urn.split("::")[2].rsplit("$", 1)[-1]
        return {"type": kind, "urn": urn, "config": self._config, "id": identifier}


def _keep(olds: Any, news: Any, keys: list[str]) -> None:  # noqa: ANN401 - JSON
    """Put what was at a path into the new inputs, in place."""
    first, *rest = keys
    if not isinstance(news, dict):
        return
    old = olds.get(first) if isinstance(olds, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if rest:
        _keep(old, news.get(first), rest)  # pyright: ignore[reportUnknownMemberType]
    elif old is None:
        news.pop(first, None)  # pyright: ignore[reportUnknownMemberType]
    else:
        news[first] = old


def _some(changed: list[str]) -> provider_pb2.DiffResponse.DiffChanges.ValueType:
    return provider_pb2.DiffResponse.DIFF_SOME if changed else provider_pb2.DiffResponse.DIFF_NONE


def _digits(seed: bytes) -> str:
    return (hashlib.sha256(seed).hexdigest() if seed else secrets.token_hex(DIGITS))[:DIGITS]


def _json(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """Return the value without secret marks and with the engine's text for unknown values."""
    match value:
        case SecretValue():
            return _json(value.value)
        case UnknownValue():
            return UNKNOWN_TEXT
        case dict():
            return {str(key): _json(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list():
            return [_json(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return value


def _marked(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    match value:
        case dict():
            return {str(key): _marked(item) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        case list():
            return [_marked(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
        case _:
            return UNKNOWN if value == UNKNOWN_TEXT else value


def _encoded(content: Properties, marks: Properties) -> Struct:
    return encode(with_secrets_of(_marked(content), marks))
