"""The example driver's opaque configuration, judged as its kubelet plugin does at prepare time.

Source: https://github.com/kubernetes-sigs/dra-example-driver, `cmd/dra-example-kubeletplugin/state.go` and
`api/example.com/resource` (v0.4.0).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dra_fleet.rehearsal.drivers.decoding import INT, UINT64, Go, decode, section
from dra_fleet.rehearsal.drivers.plugin import PrepareFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from dra_fleet.clusters.client import Object

_SHARING = Go(
    "v1alpha1.GpuSharing",
    dict,
    {
        "strategy": Go("v1alpha1.GpuSharingStrategy", str),
        "timeSlicingConfig": Go(
            "v1alpha1.TimeSlicingConfig", dict, {"interval": Go("v1alpha1.TimeSliceInterval", str)}
        ),
        "spacePartitioningConfig": Go("v1alpha1.SpacePartitioningConfig", dict, {"partitionCount": INT}),
    },
)
_KINDS: Mapping[str, Mapping[str, Mapping[str, Go]]] = {
    "gpu": {"GpuConfig": {"sharing": _SHARING}},
    "net": {
        "NetConfig": {
            "bwBurst": Go(
                "v1alpha1.BandwidthBurstEntry", dict, {"ingressBurst": UINT64, "egressBurst": UINT64}
            )
        }
    },
    "cpu": {},
}
_STRATEGIES = ("TimeSlicing", "SpacePartitioning")
_INTERVALS = ("Default", "Short", "Medium", "Long")
_MOST_BURST = 8 * (2**32 - 1)


def judge(configs: Sequence[Object], profile: str, requests: Callable[[], Sequence[tuple[str, str]]]) -> None:
    """Check what of a claim's configuration is applied to its devices.

    Args:
        configs: those for this driver.
        profile: the driver's.
        requests: the request and device of each result, once they are asked for.

    Raises:
        PrepareFailed: with the driver's words.
    """
    ours = sorted(configs, key=lambda config: config.get("source") != "FromClass")
    try:
        for config in ours:
            version = f"{profile}.resource.example.com/v1alpha1"
            decode(config["opaque"]["parameters"], version, _KINDS[profile])
    except PrepareFailed as error:
        raise PrepareFailed(f"error getting opaque device configs: {error}") from error
    for request, device in requests():
        chosen = next(
            (item for item in reversed(ours) if request in (item.get("requests") or [request])), None
        )
        if chosen is None:
            continue
        problem = _PROBLEMS[profile](chosen["opaque"]["parameters"], device)
        if problem:
            raise PrepareFailed(f"error applying config: {problem}")


def _gpu_problem(parameters: Object, device: str) -> str:
    sharing = section(parameters, "sharing")
    strategy = sharing.get("strategy", _STRATEGIES[0] if parameters.get("sharing") is None else "")
    slicing, parts = sharing.get("timeSlicingConfig"), sharing.get("spacePartitioningConfig")
    interval = section(sharing, "timeSlicingConfig").get("interval") or ""
    count = section(sharing, "spacePartitioningConfig").get("partitionCount") or 0
    invalid = unfit = ""
    if strategy not in _STRATEGIES:
        invalid = f"unknown GPU sharing strategy: {strategy}"
    elif strategy == _STRATEGIES[0]:
        invalid = (
            f"unknown time-slice interval: {interval}"
            if slicing is not None and interval not in _INTERVALS
            else ""
        )
        unfit = "time slicing" if parts is not None else ""
    else:
        invalid = f"invalid partition count: {count}" if count < 0 else ""
        unfit = "space partitioning" if slicing is not None else ""
    if invalid:
        return f"error validating GPU config: {invalid}"
    other = "SpacePartitioningConfig" if strategy == _STRATEGIES[0] else "TimeSlicingConfig"
    why = f"cannot use {other} with the '{strategy}' strategy"
    return f"unable to get {unfit} config for device {device}: {why}" if unfit else ""


def _net_problem(parameters: Object, device: str) -> str:
    del device
    for name in ("ingressBurst", "egressBurst"):
        if (section(parameters, "bwBurst").get(name) or 0) >= _MOST_BURST:
            return f"error validating Net config: invalid {name}: burst cannot be more than 4GB"
    return ""


_PROBLEMS: Mapping[str, Callable[[Object, str], str]] = {"gpu": _gpu_problem, "net": _net_problem}
