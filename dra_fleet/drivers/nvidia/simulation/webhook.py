"""The driver's webhook: the API server asks it of every claim, and it refuses wrong opaque configuration.

A rehearsed cluster has no network between its API server and pods: where a webhook's pod runs, its
configuration is pointed at a server of the rehearsal's own. Where the pod is gone, no one answers.
Source: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/webhook/main.go.
"""

from __future__ import annotations

import asyncio
import base64
from typing import TYPE_CHECKING, Final

from aiohttp import web
from typing_extensions import override

from dra_fleet.clusters.informer import Informer, key_of
from dra_fleet.drivers.nvidia.driver import DRIVER
from dra_fleet.drivers.nvidia.simulation.opaque import (
    API_VERSION,
    FIELDS,
    chart_version,
    feature_gates,
    invalid,
    kinds_in,
)
from dra_fleet.rehearsal.agent.view import POD
from dra_fleet.rehearsal.agent.work_queue import Key
from dra_fleet.rehearsal.drivers.decoding import decode
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed, environment_of
from dra_fleet.rehearsal.drivers.programs import Programs
from dra_fleet.rehearsal.simulator.controlplane.pki import loopback_serving

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dra_fleet.clusters.client import Object
    from dra_fleet.rehearsal.agent.identity import Identities
    from dra_fleet.rehearsal.agent.machines import Machines
    from dra_fleet.rehearsal.agent.view import ClusterView
    from dra_fleet.rehearsal.agent.work_queue import WorkQueue

COMMAND: Final = "webhook"
PATH: Final = "/validate-resource-claim-parameters"
SERVICE: Final = "rehearsal.dra-fleet/service"
"""Annotation of a configuration that was pointed elsewhere: the Service that it names."""
API: Final = "admissionregistration.k8s.io/v1"
KIND: Final = "ValidatingWebhookConfiguration"
_CHECKS_ALL: Final = "0.5.0"
"""The first version whose webhook checks configuration for ComputeDomains too."""
_UNREAD: Final = "error decoding config parameters: "


class Webhooks(Programs):
    """The webhooks of one cluster, each served while its pod is there."""

    def __init__(
        self, identities: Identities, view: ClusterView, queue: WorkQueue, machines: Machines
    ) -> None:
        super().__init__(identities, view, queue, machines)
        self._ports: dict[str, int] = {}

    @override
    async def before(self, pod: Object) -> None:
        await self.keep(pod)

    @override
    async def keep(self, pod: Object) -> None:
        if pod["spec"]["containers"][0].get("command") != [COMMAND]:
            return
        uid, key = pod["metadata"]["uid"], Key(POD, key_of(pod))
        if uid not in self._watches:
            reported: asyncio.Future[int] = asyncio.get_running_loop().create_future()
            network = self._identities.network
            self._watches[uid] = [
                asyncio.create_task(_serve(pod, reported), name=f"webhook/{uid}"),
                asyncio.create_task(
                    Informer(network, API, KIND, lambda _: self._queue.add(key)).run(), name=f"{KIND}/{uid}"
                ),
            ]
            self._ports[uid] = await reported
        await self._point(pod, self._ports[uid])

    @override
    def forget(self, pod: Object) -> None:
        super().forget(pod)
        self._ports.pop(pod["metadata"]["uid"], None)

    async def _point(self, pod: Object, port: int) -> None:
        network, namespace = self._identities.network, pod["metadata"]["namespace"]
        client = {
            "url": f"https://127.0.0.1:{port}{PATH}",
            "caBundle": base64.b64encode(loopback_serving().authority).decode(),
        }
        for configuration in (await network.list(API, KIND))["items"]:
            annotations = configuration["metadata"].setdefault("annotations", {})
            for webhook in configuration.get("webhooks", []):
                named = webhook["clientConfig"].get("service") or _service(annotations.get(SERVICE, ""))
                if webhook["clientConfig"] == client or named.get("namespace") != namespace:
                    continue
                service = await network.get("v1", "Service", named["name"], namespace=namespace)
                if service["spec"]["selector"].items() <= pod["metadata"]["labels"].items():
                    annotations[SERVICE] = f"{namespace}/{named['name']}"
                    webhook["clientConfig"] = client
                    await network.replace({"apiVersion": API, "kind": KIND, **configuration})


def _service(annotation: str) -> Object:
    namespace, _, name = annotation.partition("/")
    return {"namespace": namespace, "name": name} if name else {}


async def _serve(pod: Object, port: asyncio.Future[int]) -> None:
    async def answer(request: web.Request) -> web.Response:
        review = await request.json()
        return web.json_response(
            {**review, "response": response(review["request"], pod["spec"]["containers"][0])}
        )

    application = web.Application()
    application.router.add_post(PATH, answer)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=loopback_serving().context)
        await site.start()
        port.set_result(runner.addresses[0][1])
        await asyncio.Event().wait()
    finally:
        await runner.cleanup()


def response(request: Object, container: Object) -> Object:
    """Return container of the webhook response to a claim or a template.

    Args:
        request: request of the admission review.
        container: container of the webhook.
    """
    spec, path = request["object"]["spec"], "spec"
    if request["resource"]["resource"] == "resourceclaimtemplates":
        spec, path = spec["spec"], "spec.spec"
    reported = list(_problems(spec.get("devices", {}).get("config", []), path, container))
    if not reported:
        return {"uid": request["uid"], "allowed": True}
    message = f"{len(reported)} configs failed to validate: {'; '.join(reported)}"
    return {"uid": request["uid"], "allowed": False, "status": {"message": message, "reason": "Invalid"}}


def _problems(configs: list[Object], path: str, container: Object) -> Iterator[str]:
    version = container["image"].rpartition(":")[2].removeprefix("v")
    gates = feature_gates(environment_of(container), version)
    checked = set(DRIVER.publishers)
    if DRIVER.facts.is_older(version, _CHECKS_ALL):
        checked = {DRIVER.facts.driver}
    for index, config in enumerate(configs):
        opaque: Object = config.get("opaque") or {}
        if opaque.get("driver") not in checked:
            continue
        at = f"{path}.devices.config[{index}].opaque.parameters"
        parameters = opaque["parameters"]
        try:
            kind = decode(parameters, API_VERSION, kinds_in(chart_version(version)))
        except PrepareFailed as error:
            yield f"error decoding object at {at}: {str(error).removeprefix(_UNREAD)}"
            continue
        if kind not in FIELDS:
            yield f"expected a recognized configuration type at {at} but got: *v1beta1.{kind}"
        elif problem := _invalid(kind, parameters, gates):
            yield f"object at {at} is invalid: {problem}"


def _invalid(kind: str, parameters: Object, gates: Mapping[str, bool]) -> str:
    return (
        _invalid_domain(parameters.get("domainID") or "")
        if "domainID" in FIELDS[kind]
        else invalid(parameters, gates)
    )


def _invalid_domain(name: str) -> str:
    """Source: https://github.com/kubernetes/apimachinery/blob/v0.36.3/pkg/api/validation/path/name.go."""
    if not name:
        return "domainID cannot be empty"
    wrong = [f"may not be '{name}'"] if name in (".", "..") else []
    wrong += [f"may not contain '{part}'" for part in "/%" if part in name]
    return f'domainID "{name}" is not a valid single path component: {", ".join(wrong)}' if wrong else ""
