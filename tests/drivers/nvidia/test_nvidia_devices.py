import pytest

from dra_fleet.drivers.nvidia import facts as nvidia_facts
from dra_fleet.drivers.nvidia.devices import (
    GpuOnHost,
    MigLayoutImpossible,
    compute_domain_devices,
    nvidia_devices,
    place,
)
from dra_fleet.drivers.nvidia.driver import DRIVER
from dra_fleet.kubernetes.cel.semver import as_semver
from dra_fleet.kubernetes.devices.resource_slice import SliceDevice
from dra_fleet.model.specs import MAX_DEVICES, PublishedDevice, mebibytes, slice_specs

NVIDIA = DRIVER.facts
NEWEST = NVIDIA.versions[-1]
A100 = nvidia_facts.gpus()["A100-SXM4-40GB"]


def gpu(model: str = "A100-SXM4-40GB", mig: tuple[tuple[str, int], ...] | None = None) -> GpuOnHost:
    return GpuOnHost(
        model=nvidia_facts.gpus()[model],
        minor=0,
        uuid="GPU-8a10b6f7-077c-d51f-48f0-eba64feb5e9f",
        pci_bus_id="0000:10:1c.0",
        pcie_root="pci0000:10",
        numa_node=None,
        mig=mig,
    )


def publish(host_gpu: GpuOnHost, version: str = "") -> list[PublishedDevice]:
    chart = NVIDIA.version(version) or NEWEST
    return nvidia_devices([host_gpu], driver_version="580.126.09", cuda_version="13.0", chart=chart)


def published(host_gpu: GpuOnHost) -> list[dict[str, object]]:
    found = publish(host_gpu)
    return [device.to_object() for device in found]


def test_a_whole_a100_is_published_as_on_a_real_node() -> None:
    # https://github.com/kubernetes-sigs/dranet, examples/aws_eks_examples/gpu-efa/resourceslice-gpu.yaml
    assert published(gpu()) == [
        {
            "name": "gpu-0",
            "attributes": {
                "type": {"string": "gpu"},
                "productName": {"string": "NVIDIA A100-SXM4-40GB"},
                "architecture": {"string": "Ampere"},
                "brand": {"string": "Nvidia"},
                "addressingMode": {"string": "HMM"},
                "cudaComputeCapability": {"version": "8.0.0"},
                "cudaDriverVersion": {"version": "13.0.0"},
                "driverVersion": {"version": "580.126.9"},
                "uuid": {"string": "GPU-8a10b6f7-077c-d51f-48f0-eba64feb5e9f"},
                "resource.kubernetes.io/pciBusID": {"string": "0000:10:1c.0"},
                "resource.kubernetes.io/pcieRoot": {"string": "pci0000:10"},
            },
            "capacity": {"memory": {"value": "40Gi"}},
        }
    ]


def test_partitions_take_the_place_of_their_gpu() -> None:
    devices = published(gpu(mig=(("1g.5gb", 7),)))
    assert [device["name"] for device in devices] == [f"gpu-0-mig-1g5gb-19-{start}" for start in range(7)]
    first = devices[0]
    assert first["capacity"] == {
        "memory": {"value": "4864Mi"},
        "multiprocessors": {"value": "14"},
        "copyEngines": {"value": "1"},
        "decoders": {"value": "0"},
        "encoders": {"value": "0"},
        "jpegEngines": {"value": "0"},
        "ofaEngines": {"value": "0"},
        "memorySlice0": {"value": "1"},
    }
    attributes = first["attributes"]
    assert isinstance(attributes, dict)
    assert attributes["parentUUID"] == {"string": "GPU-8a10b6f7-077c-d51f-48f0-eba64feb5e9f"}
    assert attributes["profile"] == {"string": "1g.5gb"}
    assert attributes["type"] == {"string": "mig"}


def test_chart_25_8_1_names_partitions_by_their_place_and_knows_fewer_attributes() -> None:
    first, second, *_ = publish(gpu(mig=(("1g.5gb", 7),)), "25.8.1")
    assert (first.name, second.name) == ("gpu-0-mig-19-0-1", "gpu-0-mig-19-1-1")
    assert sorted(first.attributes) == [
        "architecture",
        "brand",
        "cudaComputeCapability",
        "cudaDriverVersion",
        "driverVersion",
        "parentUUID",
        "pcieBusID",
        "productName",
        "profile",
        "resource.kubernetes.io/pcieRoot",
        "type",
        "uuid",
    ]
    assert first.attributes["pcieBusID"] == "0000:10:1c.0"


def test_chart_25_3_2_publishes_a_gpu_beside_its_partitions_with_their_numbers() -> None:
    # https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/issues/719
    whole, first, second = publish(gpu(mig=(("3g.20gb", 2),)), "25.3.2")
    assert (whole.name, first.name, second.name) == ("gpu-0", "gpu-0-mig-9-0-4", "gpu-0-mig-9-4-4")
    assert (whole.attributes["index"], whole.attributes["minor"]) == (0, 0)
    assert (second.attributes["index"], second.attributes["parentIndex"]) == (1, 0)
    assert "parentIndex" not in whole.attributes


@pytest.mark.parametrize("version", [item.version for item in NVIDIA.versions])
def test_a_version_publishes_only_attributes_that_the_catalogue_gives_it(version: str) -> None:
    known = NVIDIA.attributes_in(version)
    for layout in (None, (("1g.5gb", 7),)):
        for device in publish(gpu(mig=layout), version):
            assert set(device.attributes) <= known
            assert device.assumed - set(device.capacity) <= set(device.attributes)


def test_mig_mode_without_partitions_strands_the_gpu() -> None:
    assert published(gpu(mig=())) == []


def test_partition_names_are_dns_labels_and_uuids_are_stable_and_distinct() -> None:
    devices = publish(gpu(mig=(("1g.5gb", 7),)))
    again = publish(gpu(mig=(("1g.5gb", 7),)))
    assert devices == again
    assert len({device.attributes["uuid"] for device in devices}) == 7


def test_mixed_layouts_are_placed_without_overlap() -> None:
    placed = place(A100, [("1g.5gb", 3), ("3g.20gb", 1)])
    assert [(item.profile.name, item.start) for item in placed] == [
        ("3g.20gb", 0),
        ("1g.5gb", 4),
        ("1g.5gb", 5),
        ("1g.5gb", 6),
    ]


@pytest.mark.parametrize(
    ("model", "layout", "message"),
    [
        ("A100-SXM4-40GB", (("1g.5gb", 8),), "A100-SXM4-40GB cannot fit 8 x 1g.5gb at the same time"),
        ("A100-SXM4-40GB", (("4g.20gb", 1), ("3g.20gb", 1), ("1g.5gb", 1)), "cannot fit 1 x 4g.20gb, 1 x"),
        ("A100-SXM4-40GB", (("1g.10mb", 1),), "A100-SXM4-40GB has no MIG profile 1g.10mb; it has: 1g.5gb"),
        ("T4", (("1g.5gb", 1),), "T4 cannot be partitioned: it has no MIG"),
    ],
)
def test_a_layout_the_gpu_cannot_have_is_refused(
    model: str, layout: tuple[tuple[str, int], ...], message: str
) -> None:
    with pytest.raises(MigLayoutImpossible) as refused:
        place(nvidia_facts.gpus()[model], layout)
    assert message in str(refused.value)


@pytest.mark.parametrize("name", sorted(nvidia_facts.gpus()))
def test_every_gpu_of_the_catalogue_can_be_published(name: str) -> None:
    model = nvidia_facts.gpus()[name]
    (whole,) = publish(gpu(name))
    assert ("memory" in whole.assumed) == (model.memory_mib is None)
    for profile in model.mig.profiles if model.mig else ():
        layout = ((profile.name, profile.max_instances),)
        found = publish(gpu(name, layout))
        assert len({device.name for device in found}) == profile.max_instances
        assert ("memory" in found[0].assumed) == (profile.memory_mib is None)
        assert ("memory" in found[0].others) == (len(profile.memory_range) > 1)


@pytest.mark.parametrize("name", sorted(nvidia_facts.gpus()))
def test_published_slices_are_valid_for_the_api(name: str) -> None:
    model = nvidia_facts.gpus()[name]
    layouts = [((profile.name, 1),) for profile in model.mig.profiles] if model.mig else []
    for layout in [None, *layouts]:
        (device,) = published(gpu(name, layout))
        assert SliceDevice.from_object(device).to_object() == device


@pytest.mark.parametrize(
    ("version", "semver"), [("580.126.09", "580.126.9"), ("13.0", "13.0.0"), ("8.6", "8.6.0")]
)
def test_versions_are_published_as_semver(version: str, semver: str) -> None:
    assert as_semver(version) == semver


@pytest.mark.parametrize(("mebi", "text"), [(4864, "4864Mi"), (40960, "40Gi"), (81559, "81559Mi")])
def test_memory_is_written_as_the_server_would_store_it(mebi: int, text: str) -> None:
    assert mebibytes(mebi) == text


def test_a_node_has_one_imex_channel_and_one_daemon() -> None:
    assert [device.name for device in compute_domain_devices()] == ["channel-0", "daemon-0"]


def test_many_devices_are_divided_into_slices_of_one_pool() -> None:
    devices: list[dict[str, object]] = [{"name": f"d{number}"} for number in range(MAX_DEVICES + 1)]
    first, second = slice_specs("gpu.nvidia.com", "n1", devices, 3)
    assert first["pool"] == second["pool"] == {"name": "n1", "generation": 3, "resourceSliceCount": 2}
    assert (len(first["devices"]), len(second["devices"])) == (128, 1)


def test_no_devices_make_one_empty_slice() -> None:
    (only,) = slice_specs("gpu.nvidia.com", "n1", [], 1)
    assert only["devices"] == []


# https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/blob/v0.5.0/cmd/gpu-kubelet-plugin/mig.go#L111
@pytest.mark.parametrize(
    ("model", "profile", "start"),
    [
        ("A100-SXM4-80GB", "1g.10gb+me", "gpu-0-mig-1g10gb-me-20-"),
        ("A30", "1g.6gb+me", "gpu-0-mig-1g6gb-me-"),
    ],
)
def test_the_plus_of_a_profile_is_a_hyphen_in_the_device_s_name(model: str, profile: str, start: str) -> None:
    [device] = publish(gpu(model, ((profile, 1),)))
    assert device.name.startswith(start)


def test_a_partition_whose_profile_s_id_is_not_public_is_not_given_another_s() -> None:
    [device] = publish(gpu("A30", (("2g.12gb", 1),)))
    assert device.name == "gpu-0-mig-2g12gb-unknown-0"
