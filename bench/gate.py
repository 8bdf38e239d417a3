"""Measure the cost of the policy pack in a preview.

A program with 500 ResourceClaimTemplates, a CRD of 92 KiB and a driver release with 8 KiB of chart values is
previewed by the real engine, in turns: without a pack, with a pack of one empty policy written with the
policy SDK (the floor: what the engine takes for having a pack), and with the whole pack; seconds on the wall,
and of CPU time for all processes together. `dra-fleet gate` is compared with a plain preview of 200 of the
resources. This program only declares, so that the floor is high;
`bench/preview.py` measures the same of a real program. Then the pack checks the same resources by itself, as
the engine would ask it to. Medians of rounds.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pulumi.runtime.proto import analyzer_pb2

from dra_fleet.policy import pack
from dra_fleet.policy.analyzer import Analyzer
from dra_fleet.policy.decoding import encode
from dra_fleet.rehearsal import tools

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # `tests` is not installed

from twins.arguments import parser
from twins.goals import print_beside_goal, print_measured

from dra_fleet.policy.rule_cases import Declared
from tests.policy.other_project import PACK, OtherProject

if TYPE_CHECKING:
    from collections.abc import Sequence

    import grpc

ROUNDS = 5
TEMPLATES = 500
GATED = 200
CRD_BYTES = 92 * 1024
VALUES_BYTES = 8 * 1024
EMPTY = """
from pulumi_policy import EnforcementLevel, PolicyPack, ResourceValidationPolicy

policy = ResourceValidationPolicy(
    name="empty", description="Nothing.", enforcement_level=EnforcementLevel.MANDATORY,
    validate=lambda args, report: None,
)
PolicyPack(name="empty", policies=[policy])
"""


def program() -> list[Declared]:
    """Return the declared resources."""
    return [_crd(), _release(), *(_template(number) for number in range(TEMPLATES))]


def _template(number: int) -> Declared:
    clauses = [
        "device.driver == 'gpu.nvidia.com'",
        "device.attributes['gpu.nvidia.com'].type == 'gpu'",
        f"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('{number % 80 + 1}Gi')) >= 0",
    ]
    request = {
        "name": "gpu",
        "exactly": {
            "deviceClassName": "gpu.nvidia.com",
            "allocationMode": "ExactCount",
            "count": number % 8 + 1,
            "selectors": [{"cel": {"expression": " && ".join(clauses)}}],
        },
    }
    return Declared(
        type="kubernetes:resource.k8s.io/v1:ResourceClaimTemplate",
        name=f"template-{number}",
        properties={
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": f"template-{number}-v1", "namespace": "team"},
            "spec": {"spec": {"devices": {"requests": [request]}}},
        },
    )


def _crd() -> Declared:
    fields: dict[str, Any] = {}
    while len(json.dumps(fields)) < CRD_BYTES:
        described = {"type": "string", "description": "A field of a large custom resource definition. " * 2}
        fields[f"field{len(fields)}"] = described
    schema = {"openAPIV3Schema": {"type": "object", "properties": fields}}
    version = {"name": "v1", "served": True, "storage": True, "schema": schema}
    return Declared(
        type="kubernetes:apiextensions.k8s.io/v1:CustomResourceDefinition",
        name="large",
        properties={"spec": {"group": "example.com", "versions": [version]}},
    )


def _release() -> Declared:
    values: dict[str, Any] = {"resources": {"gpus": {"enabled": True}}, "nvidiaDriverRoot": "/"}
    variables = [{"name": f"VARIABLE_{number}", "value": "x" * 40} for number in range(VALUES_BYTES // 80)]
    values["kubeletPlugin"] = {
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "containers": {"plugins": {"env": variables}},
    }
    return Declared(
        type="kubernetes:helm.sh/v3:Release",
        name="driver",
        properties={
            "chart": "nvidia-dra-driver-gpu",
            "version": "25.8.1",
            "namespace": "nvidia-dra-driver-gpu",
            "values": values,
        },
    )


def main() -> None:
    """Print all measurements."""
    rounds, declared = parser(__doc__, ROUNDS).parse_args().rounds, program()
    with tempfile.TemporaryDirectory(prefix="dra-fleet-bench-") as folder:
        _measure_command(Path(folder), declared[:GATED], rounds)
    with tempfile.TemporaryDirectory(prefix="dra-fleet-bench-") as folder:
        _measure_previews(Path(folder), declared, rounds)
    _measure_pack(declared, rounds)


def _measure_command(folder: Path, declared: Sequence[Declared], rounds: int) -> None:
    """Compare `dra-fleet gate` with a plain preview of the same program, in turns."""
    project = OtherProject(folder, tools.ensure())
    project.declare(declared)
    command = [str(Path(sys.executable).with_name("dra-fleet")), "gate", "dev", "--cwd", str(project.folder)]
    taken: list[tuple[float, float]] = []
    for _ in range(rounds):
        started = time.perf_counter()
        project.run("preview")
        plain = time.perf_counter() - started
        started = time.perf_counter()
        done = subprocess.run(command, env=project.environment, capture_output=True, text=True, check=False)
        taken.append((time.perf_counter() - started, plain))
        if done.returncode not in (0, 1):
            raise SystemExit(f"the gate failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    gate, plain = (statistics.median(each) for each in zip(*taken, strict=True))
    print_measured(f"gate / preview of {len(declared)} resources", f"{gate:.2f} s / {plain:.2f} s")
    ratio = statistics.median(one / other for one, other in taken)
    print_beside_goal("gate / preview, median of pairs", ratio, 1.3)


def _measure_previews(folder: Path, declared: Sequence[Declared], rounds: int) -> None:
    project = OtherProject(folder, tools.ensure())
    project.declare(declared)
    config = folder / "advisory.json"
    config.write_text('{"all": "advisory"}', encoding="utf-8")
    packs = {
        "no pack": [],
        "one empty policy": ["--policy-pack", str(_empty_pack(folder / "empty"))],
        f"all {len(pack.RULES)} rules": ["--policy-pack", str(PACK), "--policy-pack-config", str(config)],
    }
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in packs}
    for _ in range(rounds):
        for name, arguments in packs.items():
            started, used = time.perf_counter(), _used()
            done = project.run("preview", *arguments)
            taken[name].append((time.perf_counter() - started, _used() - used))
            if done.returncode:
                raise SystemExit(f"the preview with {name} failed:\n{done.stdout[-2000:]}")
    for name, costs in taken.items():
        wall, used = (statistics.median(each) for each in zip(*costs, strict=True))
        print_measured(f"preview with {name}", f"{wall:.2f} s, CPU {used:.2f} s")
    none, empty, whole = taken
    for one, words in ((empty, ", the floor"), (whole, "")):
        wall, used = _ratios(taken[one], taken[none])
        print_measured(f"{one} / {none}{words}, medians of pairs", f"{wall:.2f}, CPU {used:.2f}")
    wall, used = _ratios(taken[whole], taken[empty])
    print_beside_goal(f"{whole} / {empty}, median of pairs", wall, 1.3)
    print_beside_goal(f"{whole} / {empty}, CPU time, median of pairs", used, 1.3)


def _ratios(
    costs: Sequence[tuple[float, float]], others: Sequence[tuple[float, float]]
) -> tuple[float, float]:
    """Return the additional wall time and CPU time, as medians of pairs."""
    walls = [one / other for (one, _), (other, _) in zip(costs, others, strict=True)]
    used = [one / other for (_, one), (_, other) in zip(costs, others, strict=True)]
    return statistics.median(walls), statistics.median(used)


def _used() -> float:
    """Seconds CPU time that the processes have taken that this one started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _empty_pack(folder: Path) -> Path:
    """Write a pack of one policy that does nothing, as the policy SDK writes it."""
    folder.mkdir()
    (folder / "PulumiPolicy.yaml").write_text("runtime: python\nversion: 1.0.0\n", encoding="utf-8")
    (folder / "__main__.py").write_text(EMPTY, encoding="utf-8")
    start = folder / "run-pack"
    start.write_text(
        f'#!/bin/sh\nexec {sys.executable} -u -m pulumi.policy "$1" {folder}\n', encoding="utf-8"
    )
    start.chmod(0o755)
    return start


def _measure_pack(declared: Sequence[Declared], rounds: int) -> None:
    """Check as the engine does: each resource alone, then all together."""
    templates = [found for found in declared if found.type.endswith("ResourceClaimTemplate")]
    alone: list[float] = []
    together: list[float] = []
    for _ in range(rounds):
        served = Analyzer(name=pack.NAME, version=pack.VERSION, rules=pack.RULES, unjudged=pack.UNJUDGED)
        started = time.perf_counter()
        for found in templates:
            served.Analyze(_request(found), _CONTEXT)
        alone.append(time.perf_counter() - started)
        stack = analyzer_pb2.AnalyzeStackRequest(
            resources=[
                analyzer_pb2.AnalyzerResource(
                    type=found.type, urn=found.urn, name=found.name, properties=encode(found.properties)
                )
                for found in declared
            ]
        )
        started = time.perf_counter()
        served.AnalyzeStack(stack, _CONTEXT)
        together.append(time.perf_counter() - started)
    each, whole = statistics.median(alone) / len(templates), statistics.median(together)
    print_measured("rules on one claim template alone", f"{each * 1000:.2f} ms")
    print_measured("rules on the whole stack", f"{whole * 1000:.1f} ms")
    share = (each + whole / len(declared)) * 1000
    print_beside_goal("per claim template, its share of the stack's included", share, 2, "ms")


def _request(found: Declared) -> analyzer_pb2.AnalyzeRequest:
    return analyzer_pb2.AnalyzeRequest(
        type=found.type, urn=found.urn, name=found.name, properties=encode(found.properties)
    )


_CONTEXT = cast("grpc.ServicerContext", None)
"""Context of a call, which only a rule that fails would use."""


if __name__ == "__main__":
    main()
