"""The rehearsal: the real engine and real control planes against simulated clouds and hardware.

Nothing of the program itself (fleet, components, stacks, policies) knows this package.
"""
