import re
from collections.abc import Generator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from dra_fleet.review.model import SECTIONS
from dra_fleet.review.page import render_page
from scripts.browser import ADVICE, find_browser
from tests.review import samples

SCREENSHOTS = Path(__file__).resolve().parents[3] / "build" / "screenshots" / "review"
PAGES = ("dev", "destructive", "refused", "large")
WIDTHS = (400, 1280)
THEMES = ("light", "dark")
TALLEST = 4000
"""Pixels of a page that a screenshot shows."""
GRAVE = ("serious", "critical")

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def browser() -> Generator[Browser]:
    path = find_browser()
    if path is None:
        pytest.skip(f"no browser to drive: {ADVICE}")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path)
        yield found
        found.close()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pages as files, as people open them."""
    found = tmp_path_factory.mktemp("pages")
    for name in PAGES:
        (found / f"{name}.html").write_text(render_page(samples.SAMPLES[name]()), encoding="utf-8")
    return found


class Opened:
    """A page and everything it said or asked for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.append(request.url))


@pytest.fixture
def opened(browser: Browser, folder: Path, request: pytest.FixtureRequest) -> Generator[Opened]:
    """The page that the test names, at a width and in a theme; it must say nothing and ask for nothing."""
    name, width, theme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=theme, reduced_motion="reduce", offline=True
    )
    found = Opened(context.new_page())
    address = (folder / f"{name}.html").as_uri()
    found.page.goto(address)
    yield found
    assert found.said == []
    assert {url.partition("#")[0] for url in found.asked} == {address}
    context.close()


def at(name: str, width: int = 1280, theme: str = "light") -> Any:
    return pytest.param((name, width, theme), id=f"{name}-{width}-{theme}")


EVERY = [at(name, width, theme) for name in PAGES for width in WIDTHS for theme in THEMES]
OPENED = [at(name, 1280, theme) for name in PAGES if name != "large" for theme in THEMES]
ALONE = """number => {
  document.querySelectorAll("tr[hidden]").forEach(row => row.remove());
  window.parts ??= [...document.querySelectorAll("main > section:not(.verdict)")];
  window.parts.forEach(part => part.remove());
  document.querySelector("main").append(...window.parts.slice(number, number + 1));
  document.querySelectorAll("details").forEach(part => { part.open = true; });
  return window.parts.length;
}"""
"""Leaves the verdict and the part of a number on the page, all open. Rows of long tables that wait behind the
button "Show more" go, which are like those shown. What axe-core takes grows with what is on the page, seen
or not: beside all else of 500 pools each part would take a minute.
"""


@pytest.mark.parametrize("opened", EVERY, indirect=True)
def test_a_page_fits_its_window_and_is_kept_as_a_picture(
    opened: Opened, request: pytest.FixtureRequest
) -> None:
    page = opened.page
    wide = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    assert wide[0] <= wide[1]
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    name = request.node.callspec.id
    height = min(int(page.evaluate("document.documentElement.scrollHeight")), TALLEST)
    clip: Any = {"x": 0, "y": 0, "width": wide[1], "height": height}
    picture = page.screenshot(path=SCREENSHOTS / f"{name}.png", full_page=True, clip=clip)
    assert len(picture) > 10_000


@pytest.mark.parametrize("opened", OPENED, indirect=True)
def test_axe_finds_nothing_serious_with_everything_open(opened: Opened) -> None:
    page = opened.page
    page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
    assert grave(page) == []
    page.evaluate("document.querySelector('.gist').style.color = 'light-dark(#bbb, #555)'")
    assert [rule for rule, _ in grave(page)] == ["color-contrast"]


@pytest.mark.full
@pytest.mark.parametrize("opened", [at("large")], indirect=True)
def test_axe_finds_nothing_serious_in_any_part_of_500_pools(opened: Opened) -> None:
    page = opened.page
    names = page.locator("main > section:not(.verdict)").evaluate_all("parts => parts.map(part => part.id)")
    assert len(names) == len(SECTIONS) - 1
    for number, name in enumerate(names):
        assert page.evaluate(ALONE, number) == len(names)
        assert page.locator("main > section").evaluate_all("parts => parts.map(part => part.id)") == [
            "section-verdict",
            name,
        ]
        assert grave(page) == [], name


def grave(page: Page) -> list[tuple[str, str]]:
    """Return the serious or critical violations that axe-core finds, with the first element."""
    if not page.evaluate("'axe' in window"):
        page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate("axe.run({resultTypes: ['violations'], preload: false})")
    assert len(found["passes"]) > 3
    return [(item["id"], item["nodes"][0]["html"]) for item in found["violations"] if item["impact"] in GRAVE]


@pytest.mark.parametrize("opened", [at(name) for name in PAGES], indirect=True)
def test_nothing_is_cut_at_first_on_a_wide_screen(opened: Opened) -> None:
    wider = """boxes => boxes.filter(box => box.checkVisibility() && box.scrollWidth > box.clientWidth)
        .map(box => box.getAttribute("aria-label"))"""
    assert opened.page.locator(".scroll").evaluate_all(wider) == []


@pytest.mark.parametrize("opened", [at("destructive")], indirect=True)
def test_the_verdict_reasons_and_changes_are_on_the_first_screen(opened: Opened) -> None:
    page = opened.page
    expect(page.get_by_role("heading", level=1)).to_have_text("Approval required")
    expect(page.get_by_role("heading", level=1)).to_be_in_viewport()
    expect(page.get_by_role("heading", name="Changes")).to_be_in_viewport()


@pytest.mark.parametrize("opened", [at("destructive", width) for width in WIDTHS], indirect=True)
def test_a_reason_leads_to_the_part_that_reports_more_even_where_it_is_closed(opened: Opened) -> None:
    page = opened.page
    page.locator("#section-blast > details > summary").click()
    expect(page.locator("#section-blast table").first).to_be_hidden()
    page.locator(".reasons a[href='#section-blast']").first.click()
    expect(page.locator("#section-blast table").first).to_be_visible()
    expect(page.get_by_role("heading", name="Affected workloads and teams")).to_be_in_viewport()


@pytest.mark.parametrize("opened", [at("large")], indirect=True)
def test_a_long_table_filters_sorts_and_shows_the_rest_when_asked(opened: Opened) -> None:
    page = opened.page
    part = page.locator("#section-pools")
    part.locator("summary").first.click()
    rows, count = part.locator("tbody tr:visible"), part.locator("output")
    expect(rows).to_have_count(100)
    expect(count).to_have_text(f"100 of {samples.POOLS} shown")
    part.get_by_role("searchbox").fill("cluster-3 pool-1 mig")
    requested = [
        pool.name
        for pool in samples.large().pools
        if pool.cluster == "cluster-3" and pool.name.startswith("pool-1") and pool.strategy == "mig"
    ]
    expect(rows.locator("th")).to_have_text(requested)
    part.get_by_role("searchbox").fill("")
    part.get_by_role("button", name="Show 400 more").click()
    expect(rows).to_have_count(samples.POOLS)
    part.get_by_role("button", name="Devices per node").click()
    heading = part.locator("th", has=page.get_by_role("button", name="Devices per node"))
    expect(heading).to_have_attribute("aria-sort", "ascending")
    assert counts(part.locator("tbody tr td:nth-child(6)").all_inner_texts()) == "rising"
    part.get_by_role("button", name="Devices per node").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    assert counts(part.locator("tbody tr td:nth-child(6)").all_inner_texts()) == "falling"


def counts(texts: list[str]) -> str:
    numbers = [int(text) for text in texts]
    if min(numbers) == max(numbers):
        return "flat"
    return {True: "rising"}.get(numbers == sorted(numbers)) or (
        "falling" if numbers == sorted(numbers, reverse=True) else "mixed"
    )


@pytest.mark.parametrize("opened", [at("dev"), at("dev", theme="dark")], indirect=True)
def test_the_switch_changes_the_theme_and_says_so(opened: Opened) -> None:
    page = opened.page
    button = page.get_by_role("button", name="Dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    pressed, before = button.get_attribute("aria-pressed"), page.evaluate(ground)
    button.click()
    assert button.get_attribute("aria-pressed") != pressed
    assert page.evaluate(ground) != before
    button.click()
    assert (button.get_attribute("aria-pressed"), page.evaluate(ground)) == (pressed, before)


@pytest.mark.parametrize("opened", [at("dev")], indirect=True)
def test_everything_can_be_reached_and_worked_by_keyboard(opened: Opened) -> None:
    page = opened.page
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="To the verdict")).to_be_focused()
    summary = page.locator("#section-map > details > summary")
    summary.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#section-map > details")).not_to_have_attribute("open", re.compile(".*"))
    page.keyboard.press("Enter")
    expect(page.locator("#section-map .node").first).to_be_visible()


@pytest.mark.parametrize("opened", [at("dev")], indirect=True)
def test_a_holder_of_the_legend_is_picked_out_on_the_map(opened: Opened) -> None:
    page = opened.page
    button = page.locator("[data-legend] button").first
    button.click()
    expect(button).to_have_attribute("aria-pressed", "true")
    label = button.get_attribute("data-holder")
    chosen = page.locator("#section-map .node g.chosen")
    assert {item.get_attribute("data-holder") for item in chosen.all()} == {label}
    button.click()
    expect(page.locator("#section-map .dimmed")).to_have_count(0)


@pytest.mark.parametrize("opened", [at("destructive", theme="dark")], indirect=True)
def test_printed_all_parts_are_open_on_white(opened: Opened) -> None:
    page = opened.page
    page.emulate_media(media="print")
    expect(page.locator("#section-engine table")).to_be_visible()
    expect(page.locator("nav")).to_be_hidden()
    assert page.evaluate("getComputedStyle(document.querySelector('#section-changes')).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    assert len(page.pdf(path=SCREENSHOTS / "destructive.pdf", format="A4")) > 10_000
