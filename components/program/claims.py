"""`ResourceClaimTemplate` and `ResourceClaim`, with the parts of a pod's spec that use them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

import pulumi
from pulumi_kubernetes.core import v1 as core

from dra_fleet.core.findings.errors import choices, mistyped

from ..claim import Claim, ClaimArgs, ClaimTemplate, ClaimTemplateArgs
from ..core.identity import logical
from .arguments import article, checked, checked_fields, choices_error, key_of, label, named, plain, refused
from .cluster import cluster_of
from .device_class import DeviceClass

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dra_fleet.model.plan import ClaimPlan, ClaimTemplatePlan

    from .cluster import Cluster

_LONGEST: Final = 63
"""Characters of a claim's name in a pod."""


@checked_fields
@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceRequestArgs:
    """Devices of one class, or the first available of several alternatives.

    Attributes:
        device_class: A `DeviceClass`, or the name of one that a driver's chart installs.
        count: Number of devices. Default: 1.
        allocation_mode: `ExactCount`, or `All` for every matching device of one node.
        selectors: CEL expressions that narrow the class.
        tolerations: Tolerations of device taints.
        capacity: Amounts to consume of a shared device.
        admin_access: Access to devices in use, for monitoring.
        first_available: Alternatives, the preferred one first, each with `name` and `device_class`.
        name: Name of an alternative.
    """

    device_class: DeviceClass | str | None = None
    count: int | None = None
    allocation_mode: str | None = None
    selectors: Sequence[str] | None = None
    tolerations: Sequence[Mapping[str, Any]] | None = None
    capacity: Mapping[str, str] | None = None
    admin_access: bool | None = None
    first_available: Sequence[DeviceRequestArgs | DeviceRequestArgsDict] | None = None
    name: str | None = None


class DeviceRequestArgsDict(TypedDict, total=False):
    """`DeviceRequestArgs` as a dict literal."""

    device_class: DeviceClass | str
    count: int
    allocation_mode: str
    selectors: Sequence[str]
    tolerations: Sequence[Mapping[str, Any]]
    capacity: Mapping[str, str]
    admin_access: bool
    first_available: Sequence[DeviceRequestArgsDict]
    name: str


class _HeldByPods:
    """A claim that containers of a pod refer to by its name in the pod."""

    claim_name: str
    request_names: tuple[str, ...]

    def container_claim(self, name: str | None = None, request: str | None = None) -> core.ResourceClaimArgs:
        """Return the entry of `resources.claims` in a container.

        Args:
            name: Name of the claim in the pod, as in `pod_claim`.
            request: Only the devices of this request. Default: all.

        Raises:
            pulumi.RunError: The claim has no such request.
        """
        if request is not None and request not in self.request_names:
            raise refused(
                f"{type(self).__name__} {self.claim_name}",
                "request",
                "must be the name of a request",
                got=f'"{request}"',
                allowed=choices(request, self.request_names),
                fix=mistyped(request, self.request_names),
            )
        return core.ResourceClaimArgs(name=self._in_pod(name), request=request)

    def _in_pod(self, name: str | None) -> str:
        """Return the name of the claim in a pod, which is a DNS label."""
        if name is None:
            return self.claim_name.replace(".", "-")[:_LONGEST].rstrip("-")
        return label(f"{type(self).__name__} {self.claim_name}", "name", name)


class ResourceClaimTemplate(_HeldByPods, ClaimTemplate):
    """A ResourceClaimTemplate. The constructor checks it and proves that a claim of it fits a pool.

    Args:
        name: Name of the template. The object's name adds a hash of the spec, because a spec is immutable.
        cluster: Cluster that has it.
        namespace: Namespace of the pods that use it, also as an Output.
        requests: Requests by name, each `DeviceRequestArgs` or a dict.
        constraints: Attributes that devices share: `{"match_attribute": …, "requests": […]}`.
        config: Configuration for the driver: `{"opaque": {"driver": …, "parameters": {…}}}`.
        external: The template is used outside the program, so that it keeps its exact name.
        opts: Resource options.

    Attributes:
        claim_name: The name in the program.
        cluster: The cluster.
        request_names: Names of the requests, in order.

    Examples:
        ```python
        single = dra.ResourceClaimTemplate(
            "single-gpu",
            cluster=cluster,
            namespace="ml",
            requests={"gpu": {"device_class": "gpu.nvidia.com", "count": 1}},
        )
        pod = core.PodSpecArgs(
            resource_claims=[single.pod_claim()],
            containers=[core.ContainerArgs(name="main", resources={"claims": [single.container_claim()]})],
        )
        ```
    """

    @checked
    def __init__(
        self,
        name: str,
        *,
        cluster: Cluster,
        namespace: pulumi.Input[str],
        requests: Mapping[str, DeviceRequestArgs | DeviceRequestArgsDict],
        constraints: Sequence[Mapping[str, Any]] | None = None,
        config: Sequence[Mapping[str, Any]] | None = None,
        external: bool = False,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        component = named(self, name)
        cluster = cluster_of(component, cluster)
        settings = {"requests": requests, "constraints": constraints, "config": config, "external": external}
        planned, needed = _declared(cluster, name, component, settings)
        self.claim_name, self.cluster = name, cluster
        self.request_names = tuple(request.name for request in planned.spec.devices.requests)
        super().__init__(
            logical(cluster.program.name, name),
            ClaimTemplateArgs(
                name=name,
                namespace=namespace,
                spec=planned.spec,
                external=external,
                identity=cluster.identity,
            ),
            pulumi.ResourceOptions.merge(cluster.member_opts(needed), opts),
        )

    def pod_claim(self, name: str | None = None) -> core.PodResourceClaimArgs:
        """Return the entry of `resource_claims` in the spec of a pod.

        Args:
            name: Name of the claim in the pod. Default: the template's name.
        """
        return core.PodResourceClaimArgs(
            name=self._in_pod(name), resource_claim_template_name=self.metadata.name
        )


class ResourceClaim(_HeldByPods, Claim):
    """A ResourceClaim whose devices all pods share that refer to it.

    Args:
        name: Exact name of the claim.
        cluster: Cluster that has it.
        namespace: Namespace of the pods that use it, also as an Output.
        requests: Requests by name, each `DeviceRequestArgs` or a dict.
        constraints: Attributes that devices share: `{"match_attribute": …, "requests": […]}`.
        config: Configuration for the driver: `{"opaque": {"driver": …, "parameters": {…}}}`.
        opts: Resource options.

    Attributes:
        claim_name: The name.
        cluster: The cluster.
        request_names: Names of the requests, in order.

    Examples:
        ```python
        shared = dra.ResourceClaim(
            "shared-gpu",
            cluster=cluster,
            namespace="ml",
            requests={"gpu": {"device_class": "gpu.nvidia.com"}},
        )
        ```
    """

    @checked
    def __init__(
        self,
        name: str,
        *,
        cluster: Cluster,
        namespace: pulumi.Input[str],
        requests: Mapping[str, DeviceRequestArgs | DeviceRequestArgsDict],
        constraints: Sequence[Mapping[str, Any]] | None = None,
        config: Sequence[Mapping[str, Any]] | None = None,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        component = named(self, name)
        cluster = cluster_of(component, cluster)
        settings = {"requests": requests, "constraints": constraints, "config": config, "shared": True}
        planned, needed = _declared(cluster, name, component, settings)
        self.claim_name, self.cluster = name, cluster
        self.request_names = tuple(request.name for request in planned.spec.devices.requests)
        super().__init__(
            logical(cluster.program.name, name),
            ClaimArgs(name=name, namespace=namespace, spec=planned.spec, identity=cluster.identity),
            pulumi.ResourceOptions.merge(cluster.member_opts(needed), opts),
        )

    def pod_claim(self, name: str | None = None) -> core.PodResourceClaimArgs:
        """Return the entry of `resource_claims` in the spec of a pod.

        Args:
            name: Name of the claim in the pod. Default: the claim's name.
        """
        return core.PodResourceClaimArgs(name=self._in_pod(name), resource_claim_name=self.metadata.name)


def _declared(
    cluster: Cluster, name: str, component: str, settings: Mapping[str, object]
) -> tuple[ClaimTemplatePlan | ClaimPlan, list[pulumi.Resource]]:
    """Return the plan of a claim that fits, and the resources that it is created after."""
    found: dict[str, DeviceClass] = {}
    given = {key: value for key, value in settings.items() if value is not None}
    requests = given.pop("requests")
    if not isinstance(requests, Mapping):
        raise refused(
            component,
            "requests",
            "must be a dict of requests by name",
            got=type(requests).__name__,
            allowed='{"gpu": DeviceRequestArgs(device_class=…, count=…)}',
        )
    value = {key_of(key): plain(component, key, item) for key, item in given.items()}
    value["requests"] = {
        key: _request(component, f"requests.{key}", item, cluster, found)
        for key, item in cast("Mapping[str, object]", requests).items()
    }
    program = cluster.program
    plan = program.add(
        "claims", name, value, component, needs={"classes": program.classes_of(value)}, proved=True
    )
    planned = next(item for item in (*plan.templates, *plan.claims) if item.name == name)
    releases = [cluster.releases[release] for release in planned.after if release in cluster.releases]
    return planned, [*found.values(), *releases]


_REQUEST: Final = tuple(field.name for field in dataclasses.fields(DeviceRequestArgs))


def _request(
    component: str, argument: str, request: object, cluster: Cluster, found: dict[str, DeviceClass]
) -> dict[str, Any]:
    """Return the settings of a request, and note the classes that it names as objects."""
    if isinstance(request, DeviceRequestArgs):
        request = {key: value for key, value in vars(request).items() if value is not None}
    if not isinstance(request, Mapping):
        raise refused(component, argument, "must be DeviceRequestArgs or a dict", got=type(request).__name__)
    value: dict[str, Any] = {}
    for key, item in cast("Mapping[str, object]", request).items():
        at = f"{argument}.{key}"
        if key not in _REQUEST:
            raise choices_error(component, at, key, _REQUEST)
        if key == "device_class":
            value["class"] = _class_name(component, at, item, cluster, found)
        elif key == "first_available" and item is not None:
            if not isinstance(item, list | tuple):
                what = "must be a list of alternatives, each with name and device_class"
                raise refused(component, at, what, got=article(item))
            items = cast("Sequence[object]", item)
            value["firstAvailable"] = [
                _request(component, f"{at}[{index}]", one, cluster, found) for index, one in enumerate(items)
            ]
        else:
            value[key_of(key)] = plain(component, at, item)
    return value


def _class_name(
    component: str, argument: str, given: object, cluster: Cluster, found: dict[str, DeviceClass]
) -> Any:  # noqa: ANN401 - JSON
    if not isinstance(given, DeviceClass):
        return plain(component, argument, given)
    if given.cluster is not cluster:
        raise refused(
            component,
            argument,
            f"is a DeviceClass of {given.cluster.program.component}",
            got=given.class_name,
            fix=f"declare the class in {cluster.program.component} too",
        )
    found[given.class_name] = given
    return given.class_name
