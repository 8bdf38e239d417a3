"""The Pulumi program; what it does is in stacks/program.py."""

from stacks.start import quick_start

with quick_start():
    from stacks.program import run

    run()
