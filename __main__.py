"""The Pulumi program: the stack of stacks/program.py, declared by components/fleet.py."""

from stacks.start import quick_start

with quick_start():
    from components.fleet import build
    from stacks.program import run

    run(build)
