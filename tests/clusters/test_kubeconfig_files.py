import json
from pathlib import Path
from typing import Any

import pytest

from dra_fleet.clusters.credentials import KubeconfigError, read_kubeconfig

CONFIG: dict[str, Any] = {
    "current-context": "lab",
    "clusters": [{"name": "lab", "cluster": {"server": "https://lab", "certificate-authority": "ca.pem"}}],
    "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "me"}}],
    "users": [{"name": "me", "user": {"token": "t"}}],
}
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(['*' + before] * 10)}]\n"
    for before, name in zip("abcde", "bcdef", strict=True)
)


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(json.dumps(CONFIG), encoding="utf-8")
    chosen = read_kubeconfig(str(file))
    assert chosen.cluster.server == "https://lab"
    assert chosen.abs_file("ca.pem") == tmp_path / "ca.pem"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(KubeconfigError) as refused:
        read_kubeconfig(str(tmp_path / "config"))
    assert str(refused.value) == f"kubeconfig {tmp_path}/config cannot be used: no such file"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (BOMB, "holds more than 100000 values once its anchors are followed"),
        ("\n", "it is not a mapping of clusters, users and contexts"),
        ("clusters: []\n", "'contexts'"),
    ],
)
def test_rejects_values_that_are_no_kubeconfig(text: str, why: str) -> None:
    with pytest.raises(KubeconfigError) as refused:
        read_kubeconfig(text)
    assert str(refused.value) == f"kubeconfig (given as text) cannot be used: {why}"
