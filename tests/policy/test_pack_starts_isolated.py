import os
import subprocess
import sys
from pathlib import Path

import pytest

from dra_fleet.policy.gate.running import RUN_PACK

SHADOWED = ("sitecustomize", "usercustomize", "yaml", "policies", "dra_fleet", "grpc")


def hostile(folder: Path, marker: Path) -> dict[str, str]:
    """Each way by which a variable makes Python or the shell run something; it writes a marker."""
    writes = f"open({str(marker)!r}, 'a').write('ran\\n')\n"
    shadows = folder / "shadows"
    site = folder / "user" / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    commands = folder / "commands"
    for made in (shadows, site, commands):
        made.mkdir(parents=True)
    for name in SHADOWED:
        (shadows / f"{name}.py").write_text(writes, encoding="utf-8")
    (site / "first.pth").write_text(f"import sys; {writes}", encoding="utf-8")
    (folder / "startup.py").write_text(writes, encoding="utf-8")
    script = f"echo ran >> {marker}\n"
    (folder / "startup.sh").write_text(script, encoding="utf-8")
    for name in ("python", "python3", "dirname", "readlink"):
        (commands / name).write_text(f"#!/bin/sh\n{script}", encoding="utf-8")
        (commands / name).chmod(0o755)
    return {
        "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(shadows),
        "PYTHONHOME": str(folder / "nowhere"),
        "PYTHONSTARTUP": str(folder / "startup.py"),
        "PYTHONUSERBASE": str(folder / "user"),
        "PYTHONINSPECT": "1",
        "PYTHONPLATLIBDIR": "nowhere",
        "PYTHONPYCACHEPREFIX": str(folder / "compiled"),
        "PYTHONEXECUTABLE": str(commands / "python"),
        "PYTHONBREAKPOINT": "sitecustomize.run",
        "ENV": str(folder / "startup.sh"),
        "BASH_ENV": str(folder / "startup.sh"),
        "CDPATH": str(folder),
        "PULUMI_OPTION_POLICY_PACK": str(folder),
    }


@pytest.mark.slow
@pytest.mark.parametrize("start", [str(RUN_PACK), str(RUN_PACK.parent)], ids=["run-pack", "folder"])
def test_no_variable_changes_how_the_pack_starts(start: str, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    variables = {**os.environ, **hostile(tmp_path, marker)}
    command = [start]
    if start != str(RUN_PACK):
        # The engine's language host needs a Python that works; only its PYTHONPATH is set here.
        command = [sys.executable, start]
        for name in ("PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONEXECUTABLE"):
            variables.pop(name)
    with subprocess.Popen(
        command, env=variables, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as pack:
        assert pack.stdout is not None
        port = pack.stdout.readline().strip()
        pack.terminate()
        output = pack.stderr.read() if pack.stderr is not None else ""
    assert port.isdigit(), output
    ran = marker.read_text(encoding="utf-8") if marker.exists() else ""
    assert ran == ("" if start == str(RUN_PACK) else "ran\n")


@pytest.mark.slow
def test_the_pack_takes_the_protocol_from_the_sdk_without_the_sdk() -> None:
    program = (
        "from dra_fleet.core.findings.bare_sdk import use_protocol_only; use_protocol_only(); "
        "import sys, dra_fleet.policy.serving; "
        "print(sorted(name for name in sys.modules if name.split('.')[0] == 'pulumi' and '_pb2' not in name))"
    )
    done = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "['pulumi', 'pulumi.runtime', 'pulumi.runtime.proto']\n"
