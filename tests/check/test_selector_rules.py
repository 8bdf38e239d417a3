from dra_fleet.check import FileFinding, ManifestFile
from tests.check.check_helpers import ROOT, check, plan_of
from tests.check.tables import Case, table

DRIVER = "device.driver == 'gpu.nvidia.com' && "
ATTRIBUTES = "device.attributes['gpu.nvidia.com']"
CAPACITY = "device.capacity['gpu.nvidia.com']"


def found(expression: str, name: str = "big", stack: str = "tests/data/stacks/lab.yaml") -> list[FileFinding]:
    text = (
        f"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {{name: {name}}}\n"
        f"spec:\n  selectors:\n    - cel:\n        expression: >-\n          {expression}\n"
    )
    return check(plan_of(ROOT / stack), [ManifestFile(name="f.yaml", data=text.encode())])


@table(__file__)
def test_findings(case: Case) -> None:
    case.verify()
