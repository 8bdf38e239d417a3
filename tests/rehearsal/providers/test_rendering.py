"""The functions behind `yaml.ConfigFile` and `helm.v3.Chart`, and what the stand-in does not serve.

Their arguments: pulumi-kubernetes, `invoke_decode_yaml.go` and `invoke_helm_template.go`.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from dra_fleet.rehearsal.providers.kubernetes.configuration import Configuration
from dra_fleet.rehearsal.providers.kubernetes.connection import ProviderCluster
from dra_fleet.rehearsal.providers.kubernetes.errors import RefusedError
from dra_fleet.rehearsal.providers.kubernetes.rendering import DECODE, TEMPLATE, decoded, invoke

if TYPE_CHECKING:
    from pathlib import Path


def ask(token: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return asyncio.run(invoke(token, arguments, ProviderCluster(Configuration()), asyncio.Event()))


def test_each_document_is_an_object_and_empty_ones_are_none() -> None:
    text = "---\n# nothing\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n---\n"
    expected = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ml"}}
    assert ask(DECODE, {"text": text}) == {"result": [expected]}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [", "the text is no YAML: "),
        (
            "hello: world",
            "a document is no Kubernetes object, it needs apiVersion and kind: {'hello': 'world'}",
        ),
    ],
)
def test_what_is_no_object_is_refused_with_the_text(text: str, message: str) -> None:
    with pytest.raises(RefusedError) as refused:
        decoded(text)
    assert str(refused.value).startswith(message)


def test_a_chart_is_rendered_with_its_definitions_and_without_its_tests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    helm = tmp_path / "helm"
    helm.write_text('#!/bin/sh\nprintf \'apiVersion: v1\\nkind: ConfigMap\\ndata: {told: "%s"}\\n\' "$*"\n')
    helm.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    options = {"path": "/charts/tiny", "release_name": "tiny", "namespace": "ml", "values": {"a": 1}}
    (found,) = ask(TEMPLATE, {"jsonOpts": json.dumps({**options, "kube_version": "1.36"})})["result"]
    assert found["data"]["told"] == (
        "template tiny /charts/tiny --include-crds --skip-tests --kube-version 1.36 --namespace ml --values -"
    )


@pytest.mark.parametrize(
    ("token", "arguments", "what"),
    [
        ("kubernetes:kustomize:directory", {}, "function kubernetes:kustomize:directory"),
        (TEMPLATE, {"jsonOpts": '{"post_renderer": "x"}'}, "option post_renderer of helm.v3.Chart"),
    ],
)
def test_what_is_not_served_is_told_in_one_sentence(token: str, arguments: dict[str, Any], what: str) -> None:
    with pytest.raises(RefusedError) as refused:
        ask(token, arguments)
    assert str(refused.value) == (
        f"{what} is not served by the stand-in for the Kubernetes plugin, which has objects, "
        "helm.v3.Release, helm.v3.Chart, yaml.ConfigFile and yaml.ConfigGroup; use one of these, or the "
        "published plugin (docs/rehearsal.md)"
    )
