"""The charts that a rehearsal serves, as folders for helm."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from dra_fleet.rehearsal.registry.archives import packed, unpacked

NVIDIA = ("dra-driver-nvidia-gpu", "0.5.0")
EXAMPLE = ("dra-example-driver", "0.4.0")
TPU = ("dra-driver-google-tpu", "0.1.0")
EFA = ("aws-dranet", "1.0.0")


@cache
def chart_folder(name: str, version: str) -> Path:
    """Return a chart's folder, named after the chart; its Go module is fetched when a test first needs it."""
    chart = packed(name, version)
    assert chart is not None, f"no driver has chart {name} {version}"
    place = Path(tempfile.mkdtemp()) / name
    atexit.register(shutil.rmtree, place.parent)
    for path, content in unpacked(chart).items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_bytes(content)
    return place
