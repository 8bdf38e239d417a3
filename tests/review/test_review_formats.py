import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dra_fleet.core.facts import read
from dra_fleet.core.findings.engine_events import UNKNOWN_TEXT
from dra_fleet.core.findings.errors import ReportedViolation
from dra_fleet.review.assemble import make_review
from dra_fleet.review.comment import LONGEST, marker, render_markdown
from dra_fleet.review.events import EngineStep, Preview
from dra_fleet.review.masking import MASK, change_shown, scrub
from dra_fleet.review.model import Review
from dra_fleet.review.page import render_page
from dra_fleet.review.schema import text as schema_text
from dra_fleet.review.writing import StackText, place_of, render_sarif
from tests.golden_files import Golden
from tests.review import samples
from tests.review.test_review_content import known

SARIF = json.loads((Path(__file__).parent / "schemas" / "sarif-2.1.0-rtm.5.json").read_text(encoding="utf-8"))
STACK = (Path(__file__).parents[2] / "Pulumi.dev.yaml").read_text(encoding="utf-8")
DEV = [StackText(path="Pulumi.dev.yaml", text=STACK)]
EACH_SAMPLE = [pytest.param(name, marks=[pytest.mark.slow] * (name == "large")) for name in samples.SAMPLES]
SIGNED = {"4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270"}
CANARY = "canary-9b1c"
KEY = f"-----BEGIN PRIVATE KEY-----\n{CANARY}\n-----END PRIVATE KEY-----"


def problems(validator: Any, content: Any) -> list[str]:
    """Return the problems that a validator finds; its types are incomplete."""
    return [error.message for error in validator.iter_errors(content)]


@pytest.mark.parametrize("name", EACH_SAMPLE)
def test_json_keeps_to_the_published_schema(name: str) -> None:
    schema = json.loads(schema_text())
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    content = json.loads(samples.SAMPLES[name]().model_dump_json())
    assert problems(validator, content) == []
    assert Review.model_validate_json(json.dumps(content)) == samples.SAMPLES[name]()


@pytest.mark.parametrize("name", EACH_SAMPLE)
def test_sarif_keeps_to_its_schema(name: str) -> None:
    log = json.loads(render_sarif(samples.SAMPLES[name](), DEV))
    assert problems(jsonschema.Draft4Validator(SARIF), log) == []


def test_sarif_names_the_line_of_a_setting() -> None:
    log = json.loads(render_sarif(samples.wrong(), DEV))
    places: dict[str, int] = {
        result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]: result["locations"][0][
            "physicalLocation"
        ]["region"]["startLine"]
        for result in log["runs"][0]["results"]
    }
    line = places["dra-fleet:fleet.kubernetes"]
    written: str = STACK.splitlines()[line - 1]
    assert written.strip().startswith("kubernetes:")


def test_proof_findings_are_at_their_workload_and_have_the_path_once() -> None:
    review = samples.refused()
    assert [reason.text for reason in review.verdict.reasons[:1]] == [
        "workloads.infer: on cluster lab, never: infer: 30 x 1 devices are requested, and 28 can match"
    ]
    stack = "config:\n  dra-fleet:fleet:\n    workloads:\n      train: {}\n      infer: {}\n"
    (result, *_) = json.loads(render_sarif(review, [StackText(path="Pulumi.lab.yaml", text=stack)]))["runs"][
        0
    ]["results"]
    (place,) = result["locations"]
    assert place["physicalLocation"]["region"] == {"startLine": 5}
    assert place["logicalLocations"] == [{"fullyQualifiedName": "dra-fleet:fleet.workloads.infer"}]


def test_an_unknown_setting_is_at_its_nearest_part() -> None:
    file, line = place_of("dra-fleet:fleet.clusters.lab.pools.a100.machin", DEV)
    assert (file, STACK.splitlines()[line - 1].strip()) == ("Pulumi.dev.yaml", "a100:")
    assert place_of("anything else", DEV) == ("Pulumi.dev.yaml", 1)


def test_a_setting_of_a_file_that_is_extended_is_shown_there() -> None:
    own = "config:\n  dra-fleet:fleet:\n    extends: fleets/1.yaml\n    owner: ml\n"
    below = "config:\n  dra-fleet:fleet:\n    owner: all\n    clusters:\n      lab: {pools: {a100: {}}}\n"
    files = [StackText(path="Pulumi.dev.yaml", text=own), StackText(path="fleets/1.yaml", text=below)]
    assert place_of("dra-fleet:fleet.owner", files) == ("Pulumi.dev.yaml", 4)
    assert place_of("dra-fleet:fleet.clusters.lab.pools.a100.machine", files) == ("fleets/1.yaml", 5)


@pytest.mark.parametrize("name", EACH_SAMPLE)
def test_the_comment_fits_and_begins_with_its_mark(name: str) -> None:
    text = render_markdown(samples.SAMPLES[name]())
    assert len(text.encode()) <= LONGEST
    assert text.startswith(marker(samples.SAMPLES[name]().stack) + "\n")
    assert text.count("<details>") == text.count("</details>")


def test_a_large_fleet_is_summed_up_with_counts() -> None:
    assert " more pools" in render_markdown(samples.large())


def test_a_comment_that_cannot_be_summed_up_is_cut_at_a_line() -> None:
    long = samples.lab().model_copy(update={"plan": "x" * (2 * LONGEST)})
    text = render_markdown(long)
    assert len(text.encode()) <= LONGEST
    assert text.endswith("The rest is omitted: see review.json or index.html.\n")


def test_the_comment_of_the_dev_stack_before_anything_is_deployed_is_the_golden_one(golden: Golden) -> None:
    golden("review_dev.md", render_markdown(samples.dev_first()))


def test_user_text_is_no_markup_in_any_format() -> None:
    message = "<script>alert(1)</script> | @everyone ![x](https://example.com/x) `a`\n# title"
    base = known()
    violation = ReportedViolation(
        rule="r", pack="p", level="advisory", severity="low", message=message, urn="u::n"
    )
    review = review_with(replace(base.preview, violations=[violation]))
    markdown = render_markdown(review)
    assert "&lt;script&gt;alert(1)&lt;/script&gt; \\| &#64;everyone !\\[x\\]" in markdown
    assert "<script>alert" not in markdown
    assert "<script>alert" not in render_page(review)


def review_with(preview: Preview) -> Review:
    from dra_fleet.review.assemble import make_review  # noqa: PLC0415 - beside its use

    return make_review(replace(known(), preview=preview))


def canary_step() -> EngineStep:
    def inputs(number: int) -> dict[str, Any]:
        return {
            "marked": {**SIGNED, "ciphertext": f"{CANARY}-{number}"},
            "nested": {"deep": [{**SIGNED, "plaintext": CANARY, "n": number}]},
            "password": f"{CANARY}-{number}",
            "kubeconfig": f"{CANARY}-{number}",
            "text": f"{number} {KEY}",
            "values": {"adminPassword": CANARY, "n": number},
        }

    outputs = {"marked": {**SIGNED, "plaintext": CANARY}, "plain": CANARY}
    paths: dict[str, str] = dict.fromkeys(
        ("marked", "nested.deep[0]", "password", "kubeconfig", "text", "values"), "update"
    )
    parent = samples.preview("same").steps[0].urn
    return EngineStep(
        urn="urn:pulumi:dev::dra-fleet::t::canary",
        type="t",
        operation="update",
        parent=parent,
        old={"inputs": inputs(1), "outputs": outputs},
        new={"inputs": inputs(2), "outputs": outputs},
        diff=paths,
        keys=(),
    )


def test_no_secret_is_in_any_format() -> None:
    base = known()
    violation = ReportedViolation(
        rule="r", pack="p", level="advisory", severity="low", message=f"got {KEY}", urn="u::n"
    )
    preview = replace(
        base.preview,
        steps=[*base.preview.steps, canary_step()],
        violations=[violation],
        errors=[f"failed with password: {CANARY}"],
        warnings=[f"Authorization: Bearer {CANARY}-0123456789abcdef"],
    )
    review = review_with(preview)
    shown_change = next(item for item in review.changes if item.name == "canary")
    assert len(shown_change.resources[0].properties) == 6
    texts = [
        review.model_dump_json(),
        render_markdown(review),
        render_page(review),
        render_sarif(review, DEV),
    ]
    assert [CANARY in text for text in texts] == [False] * 4
    assert all(MASK in text for text in texts[:1])


def test_a_mask_leaves_ordinary_texts_alone() -> None:
    assert scrub("data: see docs; token buckets; eyJ") == "data: see docs; token buckets; eyJ"
    assert change_shown(None, {"replicas": 2}, "spec") == ("", '{"replicas": 2}')


def test_long_values_are_cut_around_what_differs() -> None:
    before, after = change_shown("a" * 300 + "70Gi" + "b" * 300, "a" * 300 + "60Gi" + "b" * 300, "spec.text")
    assert before == "…" + "a" * 40 + "70Gi" + "b" * 114 + "…"
    assert after == "…" + "a" * 40 + "60Gi" + "b" * 114 + "…"


def test_a_value_that_the_engine_does_not_know_yet_is_said_so() -> None:
    assert change_shown("a", UNKNOWN_TEXT, "spec.name") == ("a", "known after apply")
    assert change_shown(None, {"name": UNKNOWN_TEXT}, "spec") == ("", '{"name": "known after apply"}')


def test_exempted_findings_are_reported_in_every_format_and_need_no_approval() -> None:
    base = known()
    violation = ReportedViolation(
        rule="theirs", pack="p", level="advisory", severity="high", urn="u::n",
        message="wrong; fix: right; exempted until 2027-01-31: shared by all",
    )  # fmt: skip
    review = make_review(replace(base, preview=replace(base.preview, violations=[violation])))
    assert review.verdict.decision == "approve"
    (found,) = review.findings
    assert (found.message, found.fix, found.exempted) == (
        "wrong; fix: right", "right", "until 2027-01-31: shared by all",
    )  # fmt: skip
    assert "exempted until 2027-01-31: shared by all" in render_markdown(review)
    assert "exempted until 2027-01-31: shared by all" in render_page(review)
    (run,) = json.loads(render_sarif(review, [StackText(path="Pulumi.dev.yaml", text="")]))["runs"]
    assert run["results"][0]["suppressions"][0]["justification"] == found.exempted


TABLE: list[dict[str, str]] = read("dra_fleet.core.declared", "credential_forms.yaml")["forms"]
HEX = "0123456789abcdef"
LONG = "c4n4ry" * 20
UPPER = "C4N4RY" * 20
FORMS = {
    "a private key": f"-----BEGIN PRIVATE KEY-----\n{LONG}\n-----END PRIVATE KEY-----",
    "a password in a URL": f"https://app:{LONG}@db.example/app",
    "a signed URL or a token in one": f"https://a.example/x?sv=1&sig={LONG}",
    "a password in a connection string": f"Server=db;Password={LONG};",
    "an Azure account key": f"AccountName=a;AccountKey={LONG};",
    "an Azure storage key": LONG[:86] + "==",
    "a client secret of Microsoft Entra": "abc8Q~" + LONG[:34],
    "a key of an Azure registry": LONG[:42] + "+ACRA" + LONG[:6],
    "an AWS access key": "AKIA" + UPPER[:16],
    "a token of EKS": "k8s-aws-v1." + LONG,
    "a Google API key": "AIza" + LONG[:35],
    "a Google access token": "ya29." + LONG,
    "a Google client secret": "GOCSPX-" + LONG[:28],
    "an Alibaba Cloud access key": "LTAI" + LONG[:24],
    "a GitHub token": "ghp_" + LONG[:36],
    "a GitLab token": "glpat-" + LONG[:20],
    "a Slack token": "xoxb-" + LONG[:40],
    "a Slack webhook": f"https://hooks.slack.com/services/T{LONG}/{LONG}/{LONG}",
    "a Hugging Face token": "hf_" + LONG[:34],
    "an NVIDIA API key": "nvapi-" + LONG[:64],
    "a key of a model service": "sk-proj-" + LONG,
    "a Docker Hub token": "dckr_pat_" + LONG[:27],
    "an npm token": "npm_" + LONG[:36],
    "a Pulumi token": "pul-" + (HEX * 3)[:40],
    "a Vault token": "hvs." + LONG,
    "a HashiCorp cloud token": f"{LONG[:14]}.atlasv1.{LONG[:67]}",
    "a DigitalOcean token": "dop_v1_" + HEX * 4,
    "a Stripe key": "sk_live_" + LONG[:24],
    "a SendGrid key": f"SG.{LONG[:22]}.{LONG[:43]}",
    "a Grafana token": f"glsa_{LONG[:32]}_{HEX[:8]}",
    "a Databricks token": "dapi" + HEX * 2,
    "a Tailscale key": "tskey-auth-" + LONG,
    "a signed token (JWT)": f"eyJ{LONG}.eyJ{LONG}.{LONG}",
    "an Authorization header": f"Authorization: Bearer {LONG}",
    "an age key": "AGE-SECRET-KEY-1" + UPPER[:58],
    "a password's hash": "$2b$12$" + LONG[:53],
}
"""A credential of each form, made up."""


def test_every_form_of_the_table_is_tried() -> None:
    assert list(FORMS) == [form["is"] for form in TABLE]


@pytest.mark.parametrize("form", [form for form in TABLE if "holds" in form], ids=lambda form: form["is"])
@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_every_text_of_a_form_holds_what_is_looked_for_first(
    form: dict[str, str], data: st.DataObject
) -> None:
    text = data.draw(st.from_regex(form["pattern"]))
    assert all(form["holds"] in match[0] for match in re.finditer(form["pattern"], text))


@pytest.mark.parametrize("form", FORMS)
def test_a_credential_under_a_plain_name_is_masked(form: str) -> None:
    for value in (FORMS[form], {"args": [f"start {FORMS[form]} now"]}):
        before, after = change_shown(None, value, "spec.note")
        assert before == ""
        assert MASK in after
        assert all(part.lower() not in after.lower() for part in ("c4n4ry", HEX[:8]))


def test_a_key_that_is_cut_off_is_masked_to_the_end() -> None:
    assert scrub(f"got -----BEGIN RSA PRIVATE KEY-----\n{LONG}") == f"got {MASK}"


def test_placeholders_for_credentials_are_shown() -> None:
    for text in (
        "postgres://app:${PASSWORD}@db.example/app",
        "https://a.example/x?sig=<signature>",
        "hf_home",
    ):
        assert scrub(text) == text
