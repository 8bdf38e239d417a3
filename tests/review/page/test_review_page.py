import base64
import hashlib
import re
from html.parser import HTMLParser

import pytest

from dra_fleet.review.model import SECTIONS, Review
from dra_fleet.review.page import MORE_CHANGES, render_page
from tests.review import samples
from tests.review.page.hostile import HOSTILE, hostile

MOST_BYTES = 3_000_000
SMALL = tuple(name for name in samples.SAMPLES if name != "large")
VOID = {"meta", "br", "img", "input", "link", "hr"}


class Document(HTMLParser):
    """Elements with their attributes, and whether all that open close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.wrong: list[str] = []
        self.text = ""
        self.source = text
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    @property
    def ids(self) -> list[str]:
        return [identity for _, attributes in self.elements if (identity := attributes.get("id"))]


@pytest.fixture(scope="module")
def pages() -> dict[str, Document]:
    return {name: Document(render_page(samples.SAMPLES[name]())) for name in SMALL}


@pytest.mark.parametrize("name", SMALL)
def test_every_part_is_there_once_in_order_and_every_link_leads_somewhere(
    name: str, pages: dict[str, Document]
) -> None:
    page = pages[name]
    assert (page.wrong, page.open) == ([], [])
    assert [identity for identity in page.ids if identity.startswith("section-")] == [
        f"section-{part}" for part in SECTIONS
    ]
    assert len(page.ids) == len(set(page.ids))
    links = [link["href"] or "" for link in page.all("a")]
    assert {link.removeprefix("#") for link in links} <= set(page.ids)


@pytest.mark.parametrize("name", SMALL)
def test_a_page_asks_for_nothing_from_outside(name: str, pages: dict[str, Document]) -> None:
    page = pages[name]
    named = [
        (tag, key)
        for tag, attributes in page.elements
        for key in attributes
        if key in ("src", "srcset", "action", "poster", "data") or key.startswith("on")
    ]
    assert named == []
    assert page.all("link") == page.all("img") == page.all("iframe") == []
    assert not re.search(r"@import|url\((?!#hatch\))", page.source)


def test_the_only_script_that_may_run_is_the_pages_own() -> None:
    text = render_page(samples.lab())
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    policy = next(item["content"] or "" for item in Document(text).all("meta") if "http-equiv" in item)
    assert len(scripts) == 1
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


@pytest.mark.parametrize("name", ["first", "destructive", "refused", "wrong"])
def test_hostile_names_and_messages_are_text_and_nothing_else(name: str, pages: dict[str, Document]) -> None:
    text = render_page(hostile(samples.SAMPLES[name]()))
    page = Document(text)
    assert HOSTILE not in text
    assert HOSTILE in page.text
    assert (page.wrong, page.open) == ([], [])
    assert {tag for tag, _ in page.elements} <= {tag for tag, _ in all_elements(pages)}
    assert [len(page.all(tag)) for tag in ("script", "style", "img")] == [1, 1, 0]
    assert {key for _, attributes in page.elements for key in attributes} <= {
        key for _, attributes in all_elements(pages) for key in attributes
    }


def all_elements(pages: dict[str, Document]) -> list[tuple[str, dict[str, str | None]]]:
    return [element for page in pages.values() for element in page.elements]


def test_the_verdict_is_first_with_every_reason(pages: dict[str, Document]) -> None:
    for name, page in pages.items():
        for reason in samples.SAMPLES[name]().verdict.reasons:
            assert reason.text in page.text
    assert pages["refused"].all("body") == [{"class": "refuse"}]


def test_pods_that_lose_their_devices_are_named(pages: dict[str, Document]) -> None:
    review = samples.destructive()
    assert review.blast.pods
    for pod in review.blast.pods:
        assert f"{pod.namespace}/{pod.name}" in pages["destructive"].text
    assert "these are exactly the pods" in pages["destructive"].text


def test_a_price_that_is_not_known_is_never_zero(pages: dict[str, Document]) -> None:
    for name in ("lab", "destructive", "wrong"):
        assert "$0.00" not in pages[name].text
    assert "unknown (2 nodes)" in pages["lab"].text
    for text in samples.lab().cost.unknown:
        assert text in pages["lab"].text


def test_every_table_has_a_caption_and_headings_and_every_picture_words(pages: dict[str, Document]) -> None:
    for page in pages.values():
        assert len(page.all("table")) == len(page.all("caption"))
        assert all(item.get("scope") for item in page.all("th"))
        for svg in page.all("svg"):
            assert svg.get("aria-hidden") == "true" or (svg.get("role") == "img" and svg.get("aria-label"))


def test_the_same_review_gives_the_same_page() -> None:
    assert render_page(samples.destructive()) == render_page(samples.destructive())


@pytest.mark.slow
def test_500_pools_and_5000_claims_are_less_than_3_megabytes() -> None:
    text = render_page(samples.large())
    assert len(text.encode()) < MOST_BYTES
    assert all(pool.name in text for pool in samples.large().pools)


def test_many_changes_are_reported_up_to_a_limit_and_then_counted() -> None:
    review = many_changes(samples.first(), MORE_CHANGES + 250)
    page = Document(render_page(review))
    assert len([item for item in page.all("li") if (item.get("class") or "").startswith("change ")]) == 300
    counts = re.findall("(\\d+) \N{MULTIPLICATION SIGN} [a-z]+: [a-z]+ of a [a-z]+", page.text)
    left = sum(int(count) for count in counts)
    assert left == 250


def many_changes(review: Review, count: int) -> Review:
    changes = tuple(
        item.model_copy(update={"text": f"{item.text} {number}"})
        for number, item in enumerate((review.changes * count)[:count])
    )
    return review.model_copy(update={"changes": changes})
