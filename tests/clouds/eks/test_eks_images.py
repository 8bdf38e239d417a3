"""Node images on EKS (EKS-2, 4, 5): architecture, GPU driver, device plugin, and the driver for EFA."""

from __future__ import annotations

import pytest

from tests.clouds.eks.eks_fleets import h100, pool, ultra, warnings
from tests.fleet.plan.plan_helpers import planned, refused

POOL = "clusters.train.pools.gpu"


def test_bottlerocket_s_device_plugin_cannot_stay_on() -> None:
    fleet = h100()
    pool(fleet).update(image="BOTTLEROCKET_x86_64_NVIDIA", devicePlugin=True)
    assert refused(fleet) == {
        f"{POOL}.devicePlugin": "leaves the device plugin of BOTTLEROCKET_x86_64_NVIDIA on, which advertises "
        "the GPUs that the DRA driver publishes\n  got: true\n  allowed: false\n"
        "  fix: remove devicePlugin; the stack then sets settings.kubelet-device-plugins.nvidia.enabled to "
        "false"
    }


def test_an_old_bottlerocket_cannot_turn_its_device_plugin_off() -> None:
    fleet = h100()
    pool(fleet).update(image="BOTTLEROCKET_x86_64_NVIDIA", release="1.62.1-abc123")
    assert refused(fleet) == {
        f"{POOL}.release": "does not know settings.kubelet-device-plugins.nvidia.enabled, so that its device "
        "plugin cannot be turned off\n  got: 1.62.1-abc123\n  allowed: 1.63.0 or later\n"
        "  fix: choose a newer release, or AL2023, which has no device plugin"
    }
    pool(fleet)["release"] = "1.63.0-abc123"
    assert planned(fleet).warnings == ()


@pytest.mark.parametrize(
    ("machine", "image", "built"),
    [
        ("g5g.xlarge", "AL2023_x86_64_NVIDIA", "amd64, and g5g.xlarge is arm64"),
        ("p5.48xlarge", "AL2023_ARM_64_NVIDIA", "arm64, and p5.48xlarge is amd64"),
    ],
)
def test_an_image_is_built_for_its_machine(machine: str, image: str, built: str) -> None:
    fleet = h100()
    pool(fleet).update(machine=machine, image=image)
    arch = "ARM_64" if machine == "g5g.xlarge" else "x86_64"
    assert refused(fleet) == {
        f"{POOL}.image": f"is built for {built}\n  got: {image}\n"
        f"  allowed: AL2023_{arch}_NVIDIA, BOTTLEROCKET_{arch}_NVIDIA, BOTTLEROCKET_{arch}_NVIDIA_FIPS\n"
        "  fix: remove image"
    }


@pytest.mark.parametrize("image", ["AL2_x86_64_GPU", "AL2023_x86_64_STANDARD", "AL2_x86_64"])
def test_gpus_need_an_image_with_their_driver(image: str) -> None:
    fleet = h100()
    pool(fleet)["image"] = image
    assert refused(fleet) == {
        f"{POOL}.image": "has no NVIDIA driver, and nothing installs one on EKS\n"
        f"  got: {image}\n"
        "  allowed: AL2023_x86_64_NVIDIA, BOTTLEROCKET_x86_64_NVIDIA, BOTTLEROCKET_x86_64_NVIDIA_FIPS\n"
        "  fix: remove image"
    }


def test_a_driver_that_breaks_efa_is_reported() -> None:
    fleet = ultra()
    del pool(fleet)["release"]
    pool(fleet)["image"] = {"id": "ami-0123456789abcdef0", "arch": "arm64", "nvidiaDriver": "595.58.03"}
    assert refused(fleet) == {
        f"{POOL}.image.nvidiaDriver": "breaks EFA on p6e-gb200.36xlarge\n  got: 595.58.03\n"
        "  allowed: a branch below 595\n"
        "  fix: pin the image with driver 580.173.02, which is known to work"
    }


def test_an_ultra_server_that_takes_the_newest_image_is_reported() -> None:
    fleet = ultra()
    del pool(fleet)["release"]
    assert warnings(fleet) == (
        (
            "cluster train: pool gpu takes the newest AL2023_ARM_64_NVIDIA; once that has driver branch 595, "
            "EFA breaks on p6e-gb200.36xlarge: hold it with release"
        ),
    )


def test_an_image_older_than_ultra_servers_is_refused() -> None:
    fleet = ultra()
    pool(fleet)["release"] = "1.35.0-20251001"
    assert refused(fleet)[f"{POOL}.release"] == (
        "is too old for p6e-gb200.36xlarge\n  got: 1.35.0-20251001\n"
        "  allowed: a release of 20251103 or later\n  fix: choose a newer release"
    )


def test_a_driver_too_old_for_its_gpus_is_refused() -> None:
    fleet = h100()
    pool(fleet)["machine"] = "g7.2xlarge"
    assert refused(fleet) == {
        f"{POOL}.image": "has driver branch 580, too old for the GPUs of g7.2xlarge\n"
        "  got: AL2023_x86_64_NVIDIA\n  allowed: branch 595 or later\n"
        "  fix: use an image of your own: image: {id: ami-…, nvidiaDriver: …}"
    }
