"""Reads what a release of Kubernetes says of its feature gates, from its own source."""

import re

_GATE = re.compile(r"^\t(\w+): \{\n((?:\t\t.*\n)+)\t\},$", re.MULTILINE)
_SPEC = re.compile(
    r'Version: version\.MustParse\("(\d+\.\d+)"\), Default: (true|false), PreRelease: featuregate\.(\w+)'
    r'(?:.*MinCompatibilityVersion: version\.MustParse\("(\d+\.\d+)"\))?'
)
_READ = re.compile("DRA|(GangScheduling|GenericWorkload)$")
_STAGES = {"Alpha": "alpha", "Beta": "beta", "GA": "stable"}


def stages(source: str, minor: str) -> dict[str, str]:
    """The stage of every gate of DRA and of gangs in a stock cluster of a minor.

    Args:
        source: the text of `pkg/features/kube_features.go`.
        minor: such as "1.36". A stock cluster is compatible with the minor before it, so that what needs the
            minor itself is off.
    """
    return {name: _stage(specs, minor) for name, specs in _GATE.findall(source) if _READ.match(name)}


def _stage(specs: str, minor: str) -> str:
    reached = [spec for spec in _SPEC.findall(specs) if _number(spec[0]) <= _number(minor)]
    if not reached:
        return "absent"
    _, default, stage, needed = reached[-1]
    is_on = default == "true" and not (needed and _number(needed) >= _number(minor))
    word = _STAGES[stage]
    return f"{word}-off" if word == "beta" and not is_on else word


def _number(minor: str) -> int:
    return int(minor.rpartition(".")[2])
