"""The CPU driver as any program installs it."""

import re
from dataclasses import replace

from dra_fleet.drivers.resources import NOTHING

RESOURCES = replace(NOTHING, program=re.compile(r"/dracpu(?![\w-])"))
