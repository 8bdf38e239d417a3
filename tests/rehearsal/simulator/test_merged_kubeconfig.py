from typing import Any

import pytest
import yaml

from dra_fleet.clusters.credentials import KubeconfigError, read_kubeconfig
from dra_fleet.rehearsal.simulator.controlplane.kubeconfig import merged_kubeconfig

TWO = merged_kubeconfig(
    {"lab": ("https://127.0.0.1:1", b"ca one"), "old": ("https://127.0.0.1:2", b"ca two")}
)


def test_every_cluster_is_a_context_of_its_name() -> None:
    assert read_kubeconfig(TWO, "lab").cluster.server == "https://127.0.0.1:1"
    assert read_kubeconfig(TWO, "old").cluster.server == "https://127.0.0.1:2"


def test_it_holds_no_secret() -> None:
    content: dict[str, Any] = yaml.safe_load(TWO)
    assert [list(user["user"]) for user in content["users"]] == [["exec"], ["exec"]]
    assert content["users"][1]["user"]["exec"]["args"] == ["old"]


def test_without_clusters_it_has_no_current_context() -> None:
    with pytest.raises(KubeconfigError, match="No current context"):
        read_kubeconfig(merged_kubeconfig({}))
