"""A stack on the made-up cloud with the made-up driver, and commands that find both as installed packages."""

from typing import Any

from tests.proof.proof_helpers import fleet, pool


def stack(copies: int = 2, *, field: str = "north", machine: str = "barn", nodes: int = 1) -> dict[str, Any]:
    """A cluster of Meadow with one pool, and a workload of some copies that hold a lane each.

    Args:
        copies: of the workload.
        field: where the cluster stands.
        machine: of the pool; a barn has two lanes, a coop has none.
        nodes: of the pool.
    """
    asked = fleet(
        {"hens": pool(machine, "hens", (nodes, nodes))},
        drivers={"acme": {"version": "1.0.0"}},
        classes={"lane": {"driver": "acme", "product": "Lane 3"}},
        claims={"one": {"requests": {"lane": {"class": "lane"}}}},
        workloads={"smoke": ("one", copies)},
    )
    (cluster,) = asked["clusters"].values()
    (hens,) = cluster["pools"].values()
    del cluster["kubeconfig"], hens["nodeSelector"]
    cluster.update(cloud="meadow", field=field)
    return asked
