"""Parts of random allocation cases: a node, classes, selectors, attributes."""

from typing import Any

Object = dict[str, Any]

NODE = "node-a"
LABELS = {"zone": "one", "rank": "7"}
DRIVERS = ("gpu.example.com", "nic.example.com")
_GUARDED = "device.driver == 'gpu.example.com' && device.attributes['gpu.example.com'].type == 'gpu'"
CLASSES: dict[str, Object] = {
    "any": {"metadata": {"name": "any"}, "spec": {}},
    "gpu": {"metadata": {"name": "gpu"}, "spec": {"selectors": [{"cel": {"expression": _GUARDED}}]}},
    "nic": {
        "metadata": {"name": "nic"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'nic.example.com'"}}]},
    },
    "unguarded": {
        "metadata": {"name": "unguarded"},
        "spec": {
            "selectors": [{"cel": {"expression": "device.attributes['gpu.example.com'].type == 'gpu'"}}]
        },
    },
}
SELECTORS = (
    "device.attributes['gpu.example.com'].?size.orValue(0) >= 2",
    "has(device.attributes['gpu.example.com'].size) && device.attributes['gpu.example.com'].size == 2",
    "'memory' in device.capacity[device.driver]",
    "device.capacity['gpu.example.com'].memory.compareTo(quantity('10Gi')) >= 0",
    "device.attributes['gpu.example.com'].size == 1",
    "'root' in device.attributes['example.com'] && device.attributes['example.com'].root == 'r0'",
    "device.attributes[device.driver].type == 'gpu'",
    "false",
)
ATTRIBUTES = ("example.com/root", "gpu.example.com/size", "gpu.example.com/type", "nic.example.com/size")
