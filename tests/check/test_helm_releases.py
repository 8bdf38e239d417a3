# ruff: noqa: E501 - messages and YAML are written as they are reported

from dra_fleet.check import ManifestFile, check
from tests.check.check_helpers import cluster, on, plan_on
from tests.check.test_published_systems import pod

H100 = cluster("hgx-h100-8")


def release(default: str, **controllers: str) -> str:
    """A HelmRelease of Flux whose chart uses bjw-s' common library."""
    pods = ", ".join(f"{name}: {{{values}}}" for name, values in controllers.items())
    return f"---\napiVersion: helm.toolkit.fluxcd.io/v2\nkind: HelmRelease\nmetadata: {{name: plex}}\nspec: {{values: {{route: {{host: 'plex.${{DOMAIN}}'}}, controllers: {{{pods}}}, defaultPodOptions: {{{default}}}}}}}\n"


OWN = "resourceClaims: [{name: gpu, resourceClaimTemplateName: plex-gpu}]"
TAKEN = "containers: {app: {resources: {claims: [{name: gpu}]}}}"
IDLE = "containers: {app: {image: {tag: v1}}}"


def test_a_release_of_app_template_takes_its_claims() -> None:
    assert on(release(OWN, plex=TAKEN, redis=IDLE), lab=H100) == []
    assert on(release("", plex=f"pod: {{{OWN}}}, {TAKEN}"), lab=H100) == []
    assert on(release("", plex=f"pod: {{{OWN}}}, initContainers: {TAKEN[12:]}, {IDLE}"), lab=H100) == []
    assert on(release(OWN.replace("plex-gpu", "plex-nic"), plex=IDLE), lab=H100) == []
    [output] = on(release(OWN, plex=IDLE), lab=H100)
    assert (
        "warning: HelmRelease plex spec.values.defaultPodOptions.resourceClaims[0]: no container takes claim gpu: unless its driver serves whole pods, its devices are allocated and no container sees them; fix: resources: {claims: [{name: gpu}]} in a container [claim-not-taken]"
        in output
    )
    [output] = on(release(OWN, plex=TAKEN, ml=f"pod: {{{OWN}}}, {IDLE}"), lab=H100)
    assert "spec.values.controllers.ml.pod.resourceClaims[0]: no container takes claim gpu" in output
    [output, _] = on(release(OWN, plex=TAKEN.replace("gpu", "gpus")), lab=H100)
    assert (
        "error: HelmRelease plex spec.values.controllers.plex.containers.app.resources.claims[0].name: must be one of the names in pod.spec.resourceClaims; got: gpus; allowed: gpu; fix: did you mean gpu? [container-claim]"
        in output
    )


def test_a_release_may_create_the_template_of_its_name() -> None:
    [output] = on(release(OWN, plex=TAKEN) + pod("plex"), lab=H100)
    assert "cannot be checked: HelmRelease plex of the files may create this" in output


def test_a_release_without_claims_is_skipped() -> None:
    result = check(plan_on(lab=H100), [ManifestFile(name="f", data=release("", plex=IDLE).encode())])
    assert (result.checked, dict(result.passed)) == (0, {"kind HelmRelease not known": 1})
