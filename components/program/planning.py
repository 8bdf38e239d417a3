"""The plan and the proof of one cluster while a program declares it, by the modules that read stack files."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import pulumi

from dra_fleet.core.findings.errors import KEY, SettingsInvalid
from dra_fleet.core.yaml_text import Unreadable, read_documents
from dra_fleet.fleet import parse
from dra_fleet.fleet.parsing import sections
from dra_fleet.fleet.plan import make_plan
from dra_fleet.proof.prove import prove, selector_problems

from .arguments import DATA, POOL_ARGUMENTS, VERBATIM, refused, snake

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dra_fleet.core.findings.errors import SettingsError
    from dra_fleet.model.plan import ClusterPlan, FleetPlan
    from dra_fleet.proof.answer.verdicts import Proof

SECTIONS: Final = ("classes", "claims", "computeDomains", "clusterQueues", "demand", "workloads")
PAUSE: Final = 0.02
"""Seconds between two looks at whether the program has ended."""

_QUEUES: Final = "clusterQueues"
NO_POOL: Final = {
    "none": {
        "machine": {"cpus": 1, "memory": 1},
        "nodes": {"min": 0, "max": 1},
        "nodeSelector": {"dra-fleet/pool": "none"},
    }
}
"""Stands for the pools of an existing cluster that declares none; nothing is proved on it."""

_NOTHING: Final[Mapping[str, set[str]]] = {}

_PATH: Final = re.compile(rf"^{re.escape(KEY)}\.(\S+?): ")
_KEY: Final = re.compile(r"\b[a-z]+[A-Z]\w*")
_SETTING: Final = re.compile(
    r"(?<![{\w.])([a-z]\w*): (\{(?:[^{}]|\{[^{}]*\})*\}|\[[^\]]*\]|\"[^\"]*\"|[\w./-]+(?![\w./:-])|…)"
)
"""A setting in the words of a stack file, such as `gang: native`."""
_ELLIPSIS: Final = "ELLIPSIS"
_OF_POOL: Final = re.compile(r"^clusters\.[^.]+\.pools\.[^.]+\.(\w+)(.*)$")
_NAME: Final = re.compile(r"must be a DNS |is not a known DRA driver")
"""Errors about the name of a part."""

_VERBATIM: Final = re.compile(r"(^|\.)(cel|extra|parameters|selectors|values)[.\[]")
"""Arguments whose values are no settings, so that messages about them name none."""

_OF_PROGRAMS: Final = (
    (re.compile(r"^add class: …$"), "add device_class=…"),
    (re.compile(r"; \w+: null removes the key of an extended file$"), ""),
    (re.compile(r"\bnodes: \{([^{}]*)\}"), r"\1"),
    (re.compile(" in the stack file"), ""),
    (re.compile("declare it under classes"), "declare a DeviceClass"),
)
"""Words of fixes for programs, by those for stack files."""

_WORDS: Final = (
    (re.compile(r"^create(\.|$)"), ""),
    (re.compile(r"^kubernetes$"), "kubernetes_version"),
    (re.compile(r"^copies$"), "replicas"),
    (re.compile(r"(^|\.)nodes\.(min|max)$"), r"\1\2"),
    (re.compile(r"(^|\.)nodes$"), r"\1min"),
    (re.compile(r"^(requests\..*)\.class$"), r"\1.device_class"),
)
"""Arguments by the paths that settings have for them."""


@dataclass(kw_only=True)
class ClusterProgram:
    """A cluster of a program, with everything that the program has declared in it so far.

    Attributes:
        component: Class and name of the cluster's component.
        name: The cluster's name.
        owner: Value of the label `dra-fleet/owner`.
        environment: `production` is proved more strictly.
        kubernetes: Kubernetes version, such as "1.36".
        settings: Settings of the cluster without pools and drivers.
        pools: Settings of its pools.
        drivers: Settings of its drivers.
        operators: Settings of its operators, by their keys.
        queues: Settings of all its queues together.
        namespace: Namespace of its queues.
        declared: Settings of its other parts by section and name.
        fleet: Other settings of its fleet.
        warned: Warnings that are printed already.
    """

    component: str
    name: str
    owner: str
    environment: str
    kubernetes: str
    settings: Mapping[str, Any]
    pools: dict[str, Any] = field(default_factory=dict[str, Any])
    drivers: dict[str, Any] = field(default_factory=dict[str, Any])
    operators: dict[str, Any] = field(default_factory=dict[str, Any])
    queues: dict[str, Any] = field(default_factory=dict[str, Any])
    namespace: str | None = None
    declared: dict[str, dict[str, Any]] = field(default_factory=lambda: {key: {} for key in SECTIONS})
    fleet: Mapping[str, Any] = field(default_factory=dict[str, Any])
    warned: set[str] = field(default_factory=set[str])
    _components: dict[str, str] = field(default_factory=dict[str, str])
    _ending: pulumi.Output[None] | None = None
    _stopped: bool = False

    def add(
        self,
        section: str,
        name: str,
        value: object,
        component: str,
        *,
        needs: Mapping[str, set[str]] = _NOTHING,
        proved: bool = False,
    ) -> ClusterPlan:
        """Declare a part, after checking it with the parts that it names.

        Args:
            section: `pools`, `drivers`, `operators`, or one of `SECTIONS`.
            name: Its name in that section.
            value: Its settings.
            component: Class and name of the component, for errors.
            needs: By section the names that it refers to.
            proved: Also prove it, alone on the cluster.

        Returns:
            The plan of the cluster with this part and the parts that it needs.

        Raises:
            pulumi.RunError: The part is declared twice, or is wrong.
        """
        kept = self._section(section)
        at = self._path(section, name)
        if name in kept:
            other = self._components.get(at) or f"a pool of {self.component}"
            if component.endswith(f" {name}") and other.endswith((f" {name}", self.component)):
                raise refused(component, "name", f"is also the name of {other}", got=name)
            raise refused(component, "", f"cannot be beside {other}: a cluster has one {name}")
        kept[name] = value
        self._components[at] = component
        try:
            only = {key: {*needs.get(key, ()), *([name] if key == section else [])} for key in SECTIONS}
            fleet = self._fleet(only)
            if proved:
                self._prove(fleet)
        except pulumi.RunError:
            self.remove(section, name)
            self._stopped = True
            raise
        return fleet.clusters[0]

    def begin_queues(self, component: str, namespace: str, settings: Mapping[str, Any]) -> None:
        """Keep the arguments of the first queue, which are those of all queues.

        Args:
            component: Class and name of the queue, for errors.
            namespace: Namespace of the queues.
            settings: Settings of Kueue.
        """
        self.namespace, self.queues = namespace, {**settings}
        self._components |= {"namespace": component, "queues": component}

    def remove(self, section: str, name: str) -> None:
        """Take back a part that `add` declared."""
        del self._section(section)[name], self._components[self._path(section, name)]

    def classes_of(self, claim: Mapping[str, Any]) -> set[str]:
        """Return the classes of the program that a claim's settings name; all of them if one is unknown."""
        alternatives = [
            item
            for request in claim["requests"].values()
            for item in (request, *request.get("firstAvailable", ()))
        ]
        names = {item["class"] for item in alternatives if isinstance(item.get("class"), str)}
        known = set(self.declared["classes"])
        return known if names - known else names

    def plan(self, only: Mapping[str, set[str]] | None = None) -> ClusterPlan:
        """Return the plan of the cluster.

        Args:
            only: By section the names that are planned. Default: everything.

        Raises:
            pulumi.RunError: A part is wrong.
        """
        return self._fleet(only).clusters[0]

    def require(self) -> Proof | None:
        """Prove the cluster with everything that is declared.

        Returns:
            The proof; None if the cluster declares no pools.

        Raises:
            pulumi.RunError: A claim or a demand does not fit, or a CEL expression does not compile.
        """
        return self._prove(self._fleet(None))

    def _prove(self, fleet: FleetPlan) -> Proof | None:
        """Prove a plan of the cluster, as `require` does."""
        if not self.pools:
            self._stop(selector_problems(fleet.clusters[0]))
            return None
        proof = prove(fleet)
        self._stop(proof.failures)
        for one in proof.classes:
            if one.pools and all(fit.matches == 0 for fit in one.pools):
                at = f"{KEY}.classes.{one.name}: "
                self._stop(text for text in proof.warnings if text.startswith(at))
        self._warn(proof.warnings)
        return proof

    def prove_at_end(self) -> None:
        """Prove the whole cluster once the program has declared everything."""
        if self._ending is None:
            self._ending = pulumi.Output.from_input(self._end())

    async def _end(self) -> None:
        while not _program_ended():  # noqa: ASYNC110 - the SDK has no event for it
            await asyncio.sleep(PAUSE)
        if not self._stopped:
            self.finish()

    def finish(self) -> None:
        """Prove the cluster with everything that is declared, and warn if nothing in it is proved.

        Raises:
            pulumi.RunError: A claim or a demand does not fit, or is in a production cluster without pools.
        """
        if not any(self.declared.values()):
            self.plan()
            return
        if self.require() is None:
            what = "declares no pools, so that nothing in it is proved"
            fix = "add pools={…} or a GpuNodePool"
            if self.environment == "production" and self.declared["demand"]:
                raise refused(self.component, "", what, fix=fix)
            self._warn([str(refused(self.component, "", what, fix=fix))])

    def _fleet(self, only: Mapping[str, set[str]] | None) -> FleetPlan:
        cluster = {**self.settings, **self.operators, "pools": self._planned_pools(), "drivers": self.drivers}
        parts = {
            key: {name: value for name, value in kept.items() if only is None or name in only[key]}
            for key, kept in self.declared.items()
        }
        fleet = {
            **self.fleet,
            "owner": self.owner,
            "environment": self.environment,
            "kubernetes": self.kubernetes,
            "clusters": {self.name: cluster},
            **({"namespace": self.namespace} if self.namespace else {}),
            **({"queues": {**self.queues, _QUEUES: queues}} if (queues := parts.pop(_QUEUES)) else {}),
            **{key: kept for key, kept in parts.items() if kept},
        }
        try:
            plan = make_plan(parse(fleet))
        except SettingsInvalid as invalid:
            names = [error for error in invalid.errors if _NAME.match(error.what)]
            errors = names or invalid.errors  # a wrong name makes others wrong
            raise pulumi.RunError("\n".join(str(self._refused(error)) for error in errors)) from None
        if only is None:
            self._warn(plan.warnings)
        return plan

    def _planned_pools(self) -> Mapping[str, Any]:
        return NO_POOL if not self.pools and self.settings["cloud"] == "existing" else self.pools

    def _section(self, section: str) -> dict[str, Any]:
        own = {"pools": self.pools, "drivers": self.drivers, "operators": self.operators}
        return {**own, **self.declared}[section]

    def _path(self, section: str, name: str) -> str:
        if section in SECTIONS:
            return f"queues.{section}.{name}" if section == _QUEUES else f"{section}.{name}"
        return f"clusters.{self.name}.{name if section == 'operators' else f'{section}.{name}'}"

    def _refused(self, error: SettingsError) -> pulumi.RunError:
        path = error.path.removeprefix(f"{KEY}.")
        of_pool = None if _NAME.match(error.what) else _OF_POOL.match(path)
        if of_pool is not None and of_pool[1] != "nodes":
            path = f"{path[: of_pool.start(1)]}{_pool_argument(snake(of_pool[1]))}{of_pool[2]}"
        component, argument = self._place(path)
        if not argument and (_NAME.match(error.what) or error.what.startswith("must be at most ")):
            argument = "name"
        what, got, allowed, fix = error.what, error.got if argument else "", error.allowed, error.fix
        for pattern, words in _OF_PROGRAMS:
            fix = pattern.sub(words, fix)
        fix = re.sub(r" below clusters\.\S+$", f" of {self.component}", fix)
        if not _VERBATIM.search(argument):
            what, got, allowed, fix = map(_in_python, (what, got, _as_arguments(allowed), _as_arguments(fix)))
        if what.startswith(("unknown key", "this key")):
            got = got if got != snake(error.path.rpartition(".")[2]) else argument.rpartition(".")[2]
            if of_pool is not None and not of_pool[2]:
                allowed = ", ".join(_pool_argument(key) for key in allowed.split(", "))
        what = what.replace("unknown key", "unknown argument")
        return refused(component, argument, what, got=got, allowed=allowed, fix=fix)

    def _place(self, path: str) -> tuple[str, str]:
        """Return the component at a path of the fleet's settings, and the argument below it."""
        found = {f"clusters.{self.name}": self.component, **self._components}
        for at in sorted(found, key=len, reverse=True):
            if path == at or path.startswith((f"{at}.", f"{at}[")):
                return found[at], _argument(path[len(at) :]) or (at if at == "namespace" else "")
        return self.component, _argument(path)

    def _stop(self, failures: Iterable[str]) -> None:
        texts = [self._worded(text) for text in failures]
        if texts:
            raise pulumi.RunError("\n".join(texts))

    def _warn(self, warnings: Iterable[str]) -> None:
        for text in warnings:
            if text not in self.warned:
                self.warned.add(text)
                pulumi.log.warn(self._worded(text))

    def _worded(self, text: str) -> str:
        """Return a text of a proof or a plan with the component in place of the path."""
        found = _PATH.match(text)
        if found is None:
            return text
        path = found[1]
        component, argument = self._place(path)
        lines = [line.strip() for line in text[found.end() :].splitlines()]
        words = "; ".join(lines).replace("nodes.max", "max").replace("nodes.min", "min")
        if path.startswith("demand."):
            words = re.sub(r"\bcopies\b", "replicas", words)
        return f"{component}: {f'{argument}: ' if argument else ''}{words}"


def _argument(path: str) -> str:
    """Return the argument at a path of settings: `min` at `.nodes.min`, `gpu_driver` at `.gpuDriver`."""
    parts = path.removeprefix(".").split(".")
    keys = [part.partition("[")[0] for part in parts]
    words = ".".join(
        part if VERBATIM.search(".".join((*keys[:at], ""))) or (at and keys[at - 1] in DATA) else snake(part)
        for at, part in enumerate(parts)
    )
    for pattern, argument in _WORDS:
        words = pattern.sub(argument, words)
    return words.rstrip(".")


def _pool_argument(key: str) -> str:
    """Return the argument of a pool for a setting: `options.os_sku` for `os_sku`."""
    return "min, max" if key == "nodes" else key if key in POOL_ARGUMENTS else f"options.{key}"


@cache
def _setting_keys() -> frozenset[str]:
    """Return the keys of settings that are arguments of components."""
    keys = frozenset(key.name for section in sections().values() for key in section.keys)
    return keys - {*SECTIONS, "vSwitch"}


def _as_arguments(text: str) -> str:
    """Return a text with settings as a program writes them: `gang="native"` for `gang: native`."""
    return _SETTING.sub(
        lambda found: f"{found[1]}={_value(*found.groups())}" if found[1] in _setting_keys() else found[0],
        text,
    )


def _in_python(text: str) -> str:
    """Return a text with the names of arguments for the keys of settings."""
    return _KEY.sub(lambda found: snake(found[0]) if found[0] in _setting_keys() else found[0], text)


def _value(key: str, text: str) -> str:
    """Return a value of YAML as Python; `…` in it stays, and so does a text that is no such value."""
    try:
        documents = read_documents(key, text.replace("…", _ELLIPSIS).encode())
    except Unreadable:
        return text
    words = repr(documents[0].value if documents else None).replace("'", '"')
    for placeholder in (f'"{_ELLIPSIS}": None', f'"{_ELLIPSIS}"', _ELLIPSIS):
        words = words.replace(placeholder, "…")
    return text if "None" in words else words


def _program_ended() -> bool:
    """Return whether the program's code has run to its end; the SDK then registers the stack's outputs."""
    return bool(getattr(pulumi.runtime.get_root_resource(), "_outputs_registered", True))
