import os
import subprocess

import pytest

from dra_fleet.rehearsal.tools import ensure

pytestmark = pytest.mark.engine

COMPONENTS = ("kube-apiserver", "kube-scheduler", "kube-controller-manager")


def reported(component: str, version: str) -> subprocess.CompletedProcess[str]:
    command = [str(ensure().controlplane), component, "--version=raw"]
    environment = {**os.environ, "CONTROLPLANE_GIT_VERSION": version}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("component", COMPONENTS)
@pytest.mark.parametrize("version", ["v1.34.9-gke.1234000", "v1.35.4-eks-abc1234", "v1.36.6", "v1.37.2"])
def test_a_component_reports_the_version_it_is_reported(component: str, version: str) -> None:
    minor = version.split(".")[1]
    output = reported(component, version).stdout
    assert f'Major:"1", Minor:"{minor}"' in output
    assert f'GitVersion:"{version}"' in output


def test_an_invalid_version_ends_the_component() -> None:
    ended = reported("kube-apiserver", "latest")
    assert ended.returncode == 2
    assert ended.stderr == "CONTROLPLANE_GIT_VERSION is not a version like v1.36.3: latest\n"


def test_an_unknown_component_is_named_with_those_there_are() -> None:
    command = [str(ensure().controlplane), "kubelet"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert ended.stderr == (
        'controlplane: unknown component "kubelet"\n'
        "usage: controlplane etcd|kube-apiserver|kube-controller-manager|kube-scheduler [flags]\n"
    )
