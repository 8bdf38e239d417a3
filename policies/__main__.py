"""Starts the policy pack; the engine runs this folder."""

from dra_fleet.policy.serving import start

start()
