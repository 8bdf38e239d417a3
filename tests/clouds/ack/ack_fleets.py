"""A fleet on ACK as plain data, to be changed a little."""

from typing import Any

CLUSTER_ID = f"c{'0123456789abcdef' * 2}"
GIVEN = {"ap-southeast-1a": "vsw-0000000a", "ap-southeast-1b": "vsw-0000000b"}


def a10() -> dict[str, Any]:
    """One pool of whole A10, chart 25.3.2 with its controller."""
    return {
        "owner": "ml",
        "environment": "development",
        "kubernetes": "1.36",
        "clusters": {
            "asia": {
                "cloud": "ack",
                "region": "ap-southeast-1",
                "account": "0000000000000000",
                "create": {"network": {"zones": ["ap-southeast-1a", "ap-southeast-1b"]}},
                "access": {"public": False},
                "drivers": {
                    "nvidia": {
                        "version": "25.3.2",
                        "values": {"resources": {"computeDomains": {"enabled": True}}},
                    }
                },
                "pools": {"gpu": {"machine": "ecs.gn7i-c8g1.2xlarge", "nodes": {"min": 1, "max": 2}}},
            }
        },
    }


def adopted() -> dict[str, Any]:
    """The same in a cluster that is there."""
    fleet = a10()
    del cluster(fleet)["create"], cluster(fleet)["access"]
    cluster(fleet)["adopt"] = {"id": CLUSTER_ID, "vswitches": GIVEN}
    return fleet


def cluster(fleet: dict[str, Any]) -> dict[str, Any]:
    return fleet["clusters"]["asia"]


def pool(fleet: dict[str, Any]) -> dict[str, Any]:
    return cluster(fleet)["pools"]["gpu"]


def values(fleet: dict[str, Any]) -> dict[str, Any]:
    return cluster(fleet)["drivers"]["nvidia"]["values"]
