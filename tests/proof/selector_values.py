"""Devices and literals for random selectors, ordinary ones first, awkward ones last."""

from typing import Any

DRIVER = "gpu.example.com"

DEVICES: list[dict[str, Any]] = [
    {
        "name": "full",
        "allowMultipleAllocations": True,
        "attributes": {
            "type": {"string": "gpu"},
            "index": {"int": 3},
            "healthy": {"bool": True},
            "driverVersion": {"version": "580.126.9"},
            "resource.kubernetes.io/pcieRoot": {"string": "pci0000:10"},
            "other.example.com/type": {"string": "nic"},
        },
        "capacity": {
            "memory": {"value": "40Gi"},
            "cores": {"value": "108"},
            "other.example.com/memory": {"value": "1500m"},
        },
    },
    {
        "name": "small",
        "attributes": {
            "type": {"string": "mig"},
            "index": {"int": -1},
            "healthy": {"bool": False},
            "driverVersion": {"version": "1.2.3-beta.1+build"},
        },
        "capacity": {"memory": {"value": "4864Mi"}, "cores": {"value": "0"}},
    },
    {
        "name": "swapped",
        "attributes": {"type": {"int": 1}, "index": {"string": "3"}, "healthy": {"version": "1.0.0"}},
    },
    {"name": "empty"},
]

DOMAINS = (DRIVER, DRIVER, DRIVER, "resource.kubernetes.io", "other.example.com", "absent.example.com")
IDS = ("type", "index", "healthy", "driverVersion", "pcieRoot", "absent")
STRINGS = (
    "",
    "gpu",
    "mig",
    "pci0000:10",
    "A100-SXM4",
    "a,b,c",
    "1.2.3",
    "40Gi",
    "3",
    "é",
    "10.0.0.1",
    "x y ",
)
PATTERNS = ("^g.*", "[a-z]+", "a|b", "^$", "(", "[0-9]{2}", "(?i)GPU", "\\\\d+", ".")
QUANTITIES = (
    "1",
    "0",
    "40Gi",
    "4864Mi",
    "1500m",
    "1e3",
    "2k",
    "-5",
    "0.5",
    "1.5Gi",
    "1Ei",
    "9223372036854775807",
    "100n",
    "x",
    "1 Gi",
)
VERSIONS = (
    "1.2.3",
    "580.126.9",
    "1.2.3-beta.1",
    "1.2.3-beta.1+x",
    "2.0.0",
    "v1.2",
    "1.2",
    "01.2.3",
    "1.0.0-rc.11",
    "1.0.0-rc.2",
    "x",
)
INTS = ("0", "1", "-1", "3", "108", "9223372036854775807", "-9223372036854775808", "2")
DOUBLES = ("0.0", "1.5", "-2.25", "3.0", "1e308")
UINTS = ("0u", "1u", "3u", "18446744073709551615u")
DURATIONS = ("1s", "90m", "-1h", "0s", "soon")
TIMES = ("2024-01-01T00:00:00Z", "2024-02-29T12:34:56Z", "never")
