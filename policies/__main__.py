"""Starts the policy pack; the engine runs this folder."""

from policies.pack import start

start()
