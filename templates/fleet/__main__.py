"""The fleet of the stack file: proved first, then declared."""

from dra_fleet.stacks.start import quick_start

with quick_start():
    from dra_fleet.components.fleet import build
    from dra_fleet.stacks.program import run

    run(build)
