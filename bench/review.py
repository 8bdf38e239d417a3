"""Measure how long a review takes beyond its preview.

Measures side by side in one run: the preview alone and the whole `dra-fleet review`, of the dev stack
rehearsed in a separate home; all but the preview for 500 pools and 5,000 claims; and how long the system's
Chromium, where there is one, takes to open the page of those. Medians of rounds.
"""

from __future__ import annotations

import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from twins.arguments import parser
from twins.goals import print_beside_goal, print_measured

PROJECT = Path(__file__).resolve().parents[1]
COMMAND = str(Path(sys.executable).parent / "dra-fleet")
ROUNDS = 3
OPENING = """
import statistics, sys
from playwright.sync_api import sync_playwright
from scripts.browser import ADVICE, find_browser
browser, taken = find_browser(), []
if browser is None:
    sys.exit(ADVICE)
with sync_playwright() as playwright:
    chromium = playwright.chromium.launch(executable_path=browser)
    for _ in range(int(sys.argv[2])):
        page = chromium.new_page()
        page.goto(sys.argv[1])
        taken.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd") / 1000)
        page.close()
    chromium.close()
print(statistics.median(taken))
"""


def main() -> None:
    """Print all measurements."""
    rounds = parser(__doc__, ROUNDS).parse_args().rounds
    with tempfile.TemporaryDirectory(prefix="dra-fleet-bench-") as folder:
        environment = {**os.environ, "DRA_FLEET_HOME": f"{folder}/home"}
        try:
            _measure_large(Path(folder), rounds)
            _measure_dev(Path(folder), environment, rounds)
        finally:
            _run([COMMAND, "rehearse", "down", "--remove"], environment)


def _measure_dev(folder: Path, environment: dict[str, str], rounds: int) -> None:
    _run([COMMAND, "rehearse", "up", "dev"], environment)
    previews: list[float] = []
    reviews: list[float] = []
    for _ in range(rounds):
        plan = folder / "plan.json"
        line = f"pulumi preview --stack dev --json --save-plan {plan} --policy-pack policies/run-pack"
        previews.append(_timed(line, environment))
        reviews.append(_timed(f"{shlex.quote(COMMAND)} review dev --out {folder / 'review'}", environment))
        print(f"  preview {previews[-1]:.2f} s, review {reviews[-1]:.2f} s", flush=True)
    preview, review = statistics.median(previews), statistics.median(reviews)
    print_measured("preview of the dev stack", f"{preview:.2f} s")
    print_measured("review of the dev stack", f"{review:.2f} s")
    print_beside_goal("(review - preview) / preview", (review - preview) / preview, 0.1)


def _measure_large(folder: Path, rounds: int) -> None:
    seconds: list[float] = []
    worked: list[float] = []
    size = 0.0
    for _ in range(rounds):
        command = [sys.executable, "-m", "bench.twins.review_once", str(folder)]
        done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True)
        taken, busy, size = (float(part) for part in done.stdout.strip("[]\n ").split(","))
        seconds.append(taken)
        worked.append(busy)
    print_beside_goal("500 pools, 5,000 claims, all but the preview", statistics.median(seconds), 5, "s")
    print_measured("of that on a separate core", f"{statistics.median(worked):.2f} s")
    print_beside_goal("their page", size / 1e6, 3, "MB")
    measure_opening(folder / "index.html", 1)


def measure_opening(page: Path, goal: float) -> None:
    """Measure how long Chromium takes to open a page, and print it next to a goal in seconds."""
    command = [sys.executable, "-c", OPENING, page.as_uri(), str(ROUNDS)]
    done = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    if done.returncode:
        why = done.stderr.strip().splitlines()[-1]
        print_measured("their page in Chromium", f"not measured, because {why.replace(': ', ' ')}")
        return
    print_beside_goal("their page in Chromium", float(done.stdout), goal, "s")


def _timed(line: str, environment: dict[str, str]) -> float:
    exports = subprocess.run(
        [COMMAND, "rehearse", "env"], env=environment, capture_output=True, text=True, check=True
    ).stdout
    started = time.perf_counter()
    _run(["bash", "-c", f"{exports}\n{line}"], environment)
    return time.perf_counter() - started


def _run(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{command[-1].splitlines()[-1]} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
        )


if __name__ == "__main__":
    main()
