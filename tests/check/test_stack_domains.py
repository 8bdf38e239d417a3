from dra_fleet.check import ManifestFile
from tests.check.check_helpers import check
from tests.drivers.nvidia.test_compute_domains import domain
from tests.fleet.plan.plan_helpers import planned

POD = """\
apiVersion: v1
kind: Pod
metadata: {name: rank-0, namespace: gpu-workloads}
spec:
  resourceClaims: [{name: channel, resourceClaimTemplateName: NAME}]
  containers:
    - name: main
      image: registry.k8s.io/pause:3.10
      resources: {claims: [{name: channel}]}
"""


def output(name: str, template: str | None) -> list[str]:
    fleet = domain()
    if template is not None:
        fleet["computeDomains"]["pretrain"]["template"] = template
    file = ManifestFile(name="f.yaml", data=POD.replace("NAME", name).encode())
    return [str(finding) for finding in check(planned(fleet), [file])]


def test_a_template_that_the_stack_names_is_known_and_fits() -> None:
    assert output("imex", "imex") == []


def test_a_template_without_a_name_is_reported_with_the_way_to_get_one() -> None:
    (found,) = output("pretrain-channel", None)
    assert "is a template of the stack whose name gets a suffix with every change" in found
    assert "set computeDomains.pretrain.template: pretrain-channel in the stack file" in found


def test_a_template_of_no_domain_is_unknown() -> None:
    (found,) = output("imax", "imex")
    assert "is not a ResourceClaimTemplate of the stack or of the files checked" in found
