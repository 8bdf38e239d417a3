"""Review once without the preview: `python -m bench.twins.review_once FOLDER [STACK_FILE]`.

Of a stack file's fleet, or of 500 pools and 5,000 claims; written into a folder. Prints seconds on the wall
and of CPU time, imports not counted, and the bytes of its page.
"""

from __future__ import annotations

import datetime as dt
import json
import sys
import time
from pathlib import Path

from ruamel.yaml import YAML

from dra_fleet.review.assemble import Known, fleet_of, make_review
from dra_fleet.review.events import Preview
from dra_fleet.review.running import Was
from dra_fleet.review.writing import StackText, write_review
from tests.review.samples import large_settings


def main() -> None:
    """Review once."""
    folder, *files = (Path(word) for word in sys.argv[1:])
    settings = _fleet(files[0]) if files else large_settings()
    started, worked = time.perf_counter(), time.process_time()
    seen = Preview(stack="large", started=dt.datetime(2026, 11, 21, tzinfo=dt.UTC), result="succeeded")
    known = Known(stack="large", preview=seen, fleet=fleet_of(settings), was=Was(), running=None)
    written = write_review(make_review(known), folder, [StackText(path="Pulumi.large.yaml", text="")])
    taken, busy = time.perf_counter() - started, time.process_time() - worked
    print(json.dumps([taken, busy, written["html"].stat().st_size]))


def _fleet(file: Path) -> dict[str, object]:
    return YAML(typ="safe", pure=True).load(file)["config"]["dra-fleet:fleet"]  # pyright: ignore[reportUnknownMemberType]


if __name__ == "__main__":
    main()
