"""Starts the policy pack; the engine runs this folder."""

from policies.serving import start

start()
