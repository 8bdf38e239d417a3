"""DRANET as any program installs it."""

from dataclasses import replace

from dra_fleet.drivers.resources import NOTHING

RESOURCES = replace(NOTHING, told_by="machines")
