import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_fleet.core.facts import read
from dra_fleet.review.masking import MASK, change_shown, scrub

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
