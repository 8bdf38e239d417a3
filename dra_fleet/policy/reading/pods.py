"""The pods that a program declares: alone, or as the templates of a workload of any known kind."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from dra_fleet.core.declared.values import Value
from dra_fleet.kubernetes.pod_templates import POD_TEMPLATES, pod_templates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dra_fleet.core.declared.resources import Resource

POD_TYPES: Final = re.compile(
    "|".join(
        rf"kubernetes:{re.escape(group or 'core')}/v\w+:({'|'.join(kinds)})(Patch)?"
        for group, kinds in POD_TEMPLATES.items()
    )
)
"""Every kind that is known to hold pods."""


class Container(Struct, frozen=True, kw_only=True):
    """A container of a pod, or an init container."""

    value: Value

    @property
    def claims(self) -> list[Value]:
        """The names of the pod's claims that it uses."""
        return self.value.every("resources", "claims", "*", "name")


class PodSpec(Struct, frozen=True, kw_only=True):
    """The spec of a pod."""

    resource: Resource
    value: Value

    @property
    def claims(self) -> list[Value]:
        """The entries of `resourceClaims`."""
        return self.value.get("resourceClaims").items

    @property
    def containers(self) -> Iterator[Container]:
        """Its containers, init containers first."""
        for kind in ("initContainers", "containers"):
            for container in self.value.get(kind).items:
                yield Container(value=container)


class Program(Struct, frozen=True, kw_only=True):
    """Program of a container, as far as its command and arguments show it.

    Attributes:
        words: the programs, each by its path or name; empty if only the image says it.
    """

    words: tuple[str, ...]

    @staticmethod
    def of(container: Value) -> Program:
        """Return the programs of a container: not every argument, and each command of a shell's script."""
        given = [each.text or "" for key in ("command", "args") for each in container.get(key).items]
        return Program(words=tuple(_programs(given)))

    def finds(self, pattern: re.Pattern[str]) -> bool:
        """Return whether a pattern finds one of the programs."""
        return any(pattern.search(word) for word in self.words)


_SHELLS: Final = frozenset({"sh", "bash", "ash", "dash", "zsh", "ksh", "busybox"})
_WRAPPERS: Final = frozenset(
    {"env", "exec", "tini", "dumb-init", "nohup", "sudo", "timeout", "nice", "setsid", "chroot", "nsenter"}
)
_VALUED: Final = frozenset({"timeout", "nice", "chroot", "nsenter", "sudo"})
_KEYWORDS: Final = frozenset({"if", "then", "elif", "else", "do", "while", "until", "!", "time", "command"})
_SEPARATORS: Final = re.compile(r"\|\||&&|\$\(|[;|&\n(){}`]")
_ASSIGNED: Final = re.compile(r"\w+=.*", re.DOTALL)


def _programs(words: list[str]) -> Iterator[str]:
    while words and (_ASSIGNED.fullmatch(words[0]) or words[0] in _KEYWORDS):
        words = words[1:]
    if not words:
        return
    first, rest = words[0], words[1:]
    name = first.rpartition("/")[2]
    yield first
    if name in _WRAPPERS:
        ended = [each for each in rest if not each.startswith("-") and not _ASSIGNED.fullmatch(each)]
        if ended:
            yield from _programs(ended)
            if name in _VALUED:  # a value, such as the seconds of `timeout`, precedes the program
                yield from _programs(ended[1:])
    elif name in _SHELLS:
        for script in (each for each in rest if not each.startswith("-")):
            for command in _SEPARATORS.split(script):
                yield from _programs(_split(command))
    elif name not in _TELLING:
        # A program that is not known may start another one, which its arguments name by path.
        yield from (each for each in rest if each.startswith("/"))


_TELLING: Final = frozenset(
    {"kubectl", "helm", "echo", "printf", "cat", "ls", "rm", "cp", "mv", "grep", "test", "["}
)
"""Programs that start none of those that their arguments name."""


def _split(command: str) -> list[str]:
    try:
        return shlex.split(command, comments=True)
    except ValueError:  # a quote that another part of the script ends
        return command.replace("'", " ").replace('"', " ").split()


def quiet(pods: PodSpec) -> PodSpec:
    """Return the same pods, of which reading notes no unknown value."""
    value = pods.value
    return PodSpec(
        resource=pods.resource, value=Value(value.peek, value.path, dict[str, None](), secret=value.secret)
    )


_KUBELET: Final = "/var/lib/kubelet"
_OF_DEVICES: Final = re.compile(
    r"(?i)(?<![a-z])(v?gpus?|nvidia|cuda|rocm|neuron|habana|gaudi|tpus?|dra|mig|device-?plugins?"
    r"|accelerators?)(?![a-z])"
)


def may_advertise(pods: PodSpec) -> bool:
    """Return whether pods can be a driver's or a device plugin's.

    They reach the kubelet's folders, because a driver cannot register without them, or are named so. Looking
    notes nothing.
    """
    return _says_devices(pods) or any(_reaches_kubelet(path) for path in _host_paths(pods))


def may_be_dra_driver(pods: PodSpec) -> bool:
    """Return whether pods named after devices reach the folder in which DRA drivers register.

    Looking notes nothing.
    """
    paths = (
        str(path.peek or "").rstrip("/")
        for path in quiet(pods).value.every("volumes", "*", "hostPath", "path")
    )
    return any(path.startswith(f"{_KUBELET}/plugins") for path in paths) and _says_devices(pods)


def may_install_drivers(pods: PodSpec) -> bool:
    """Return whether pods can install a kernel driver: privileged, or named so. Looking notes nothing."""
    seen = quiet(pods).value
    privileged = seen.every("initContainers", "*", "securityContext", "privileged")
    privileged += seen.every("containers", "*", "securityContext", "privileged")
    return _says_devices(pods) or any(each.flag for each in privileged)


def _host_paths(pods: PodSpec) -> list[Value]:
    value = pods.value
    if value.possible and value.peek is None:
        return [value]
    volumes = value.get("volumes")
    if volumes.possible and volumes.peek is None:
        return [volumes]
    return [each for each in quiet(pods).value.every("volumes", "*", "hostPath", "path") if each.possible]


def _reaches_kubelet(path: Value) -> bool:
    if path.peek is None:
        return True
    text = f"{str(path.peek).rstrip('/')}/"
    return text.startswith(f"{_KUBELET}/") or f"{_KUBELET}/".startswith(text)


def _says_devices(pods: PodSpec) -> bool:
    metadata = quiet(PodSpec(resource=pods.resource, value=pods.resource.properties)).value.get("metadata")
    texts = [
        pods.resource.name,
        str(metadata.get("name").peek or ""),
        str(metadata.get("namespace").peek or ""),
    ]
    for value in quiet(pods).value.walk():
        known = value.peek
        texts += [str(value.path[-1]) if value.path else "", known if isinstance(known, str) else ""]
    return any(_OF_DEVICES.search(text) for text in texts)


def pod_specs(resource: Resource) -> list[PodSpec]:
    """Return the pod specs of a resource whose type matches `POD_TYPES`, without omitted ones."""
    version, _, kind = resource.type.removeprefix("kubernetes:").partition(":")
    templates = pod_templates(version.removeprefix("core/"), kind.removesuffix("Patch"))
    places = [place for template in templates for place in resource.properties.every(*template, "spec")]
    return [PodSpec(resource=resource, value=place) for place in places if place.possible]
