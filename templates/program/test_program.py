"""The program under mocks: every claim fits, and the Deployment uses the claim template."""

import runpy
from pathlib import Path

import dra_fleet as dra

TEMPLATE = "kubernetes:resource.k8s.io/v1:ResourceClaimTemplate"


def test_pods_claim_devices_that_fit() -> None:
    with dra.testing.recording(preview=True, config={"kubeconfig": "apiVersion: v1"}) as recorder:
        recorder.run(lambda: runpy.run_path(str(Path(__file__).parent), run_name="__main__"))
    pod = recorder.only("kubernetes:apps/v1:Deployment").inputs["spec"]["template"]["spec"]
    template = recorder.only(TEMPLATE).inputs["metadata"]["name"]
    assert [claim["resourceClaimTemplateName"] for claim in pod["resourceClaims"]] == [template]
