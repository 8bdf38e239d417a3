import pytest

from tests.check.test_selector_rules import ATTRIBUTES, CAPACITY, DRIVER, found

ENOUGH = CAPACITY + ".memory.compareTo(quantity('40Gi')) >= 0"
TYPE = ATTRIBUTES + ".type == 'gpu'"
NEW = ATTRIBUTES + ".cudaComputeCapability.compareTo(semver('9.0.0')) >= 0"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (ATTRIBUTES + ".type.string == 'gpu'", TYPE),
        (ATTRIBUTES + ".type.stringValue == 'gpu'", TYPE),
        (ATTRIBUTES + ".cudaComputeCapability.version >= '9.0'", NEW),
        (ATTRIBUTES + ".cudaComputeCapability >= semver('9.0.0')", NEW),
        (ATTRIBUTES + ".cudaComputeCapability.compareTo(semver('9.0')) >= 0", NEW),
        (ATTRIBUTES + ".cudaComputeCapability.compareTo('9.0.0') >= 0", NEW),
        (CAPACITY + ".memory >= quantity('40Gi')", ENOUGH),
        (CAPACITY + ".memory.value >= '40Gi'", ENOUGH),
        ("device.capacity['memory'].quantity >= '40Gi'", ENOUGH),
        (CAPACITY + ".memory.compareTo('40Gi') >= 0", ENOUGH),
        (ATTRIBUTES + ".memory.compareTo(quantity('40Gi')) >= 0", ENOUGH),
        ("device.capacity.memory >= quantity('40Gi')", ENOUGH),
        ("device.capacity['memory'] >= '40Gi'", ENOUGH),
        ("device.attributes.type == 'gpu'", TYPE),
        ("device.attributes['type'].string == 'gpu'", TYPE),
        ("attributes['gpu.nvidia.com'].type == 'gpu'", TYPE),
        (ATTRIBUTES + "['gpu.nvidia.com/type'] == 'gpu'", TYPE),
        (ATTRIBUTES + ".type = 'gpu'", TYPE),
        ("device.attribute['gpu.nvidia.com'].type == 'gpu'", TYPE),
        ("device.capacities['gpu.nvidia.com'].memory.compareTo(quantity('40Gi')) >= 0", ENOUGH),
        (f"quantity('40Gi') <= {CAPACITY}.memory", f"quantity('40Gi').compareTo({CAPACITY}.memory) <= 0"),
        (
            f"semver('9.0.0') <= {ATTRIBUTES}.cudaComputeCapability",
            f"semver('9.0.0').compareTo({ATTRIBUTES}.cudaComputeCapability) <= 0",
        ),
        (f"has({ATTRIBUTES}['profile'])", f"'profile' in {ATTRIBUTES}"),
        (f"{NEW} and not ({ATTRIBUTES}.type == 'mig')", f"{NEW} && !({ATTRIBUTES}.type == 'mig')"),
        (
            f"({TYPE} or {ATTRIBUTES}.type == 'this or that')",
            f"({TYPE} || {ATTRIBUTES}.type == 'this or that')",
        ),
        (ATTRIBUTES + ".productName.startswith('NVIDIA')", ATTRIBUTES + ".productName.startsWith('NVIDIA')"),
        (ATTRIBUTES + ".type.toLowerCase() == 'gpu'", ATTRIBUTES + ".type.lowerAscii() == 'gpu'"),
    ],
)
def test_a_mistake_is_corrected(written: str, meant: str) -> None:
    [finding] = found(DRIVER + written)
    assert (finding.severity, finding.fix) == ("error", DRIVER + meant)
    assert found(DRIVER + meant) == []


def test_the_driver_is_not_called_by_another_name() -> None:
    [finding] = found("device.driverName = 'gpu.nvidia.com'")
    assert finding.fix == "device.driver == 'gpu.nvidia.com'"


def test_a_prefix_that_is_no_driver_s_is_not_taken_for_a_domain() -> None:
    [finding] = found(DRIVER + "device.attributes['nvidia.com/gpu'].type == 'gpu'")
    assert (finding.severity, finding.fix) == ("error", "")
