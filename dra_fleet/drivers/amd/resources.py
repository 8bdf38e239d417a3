"""AMD's driver as any program installs it."""

import re
from dataclasses import replace

from dra_fleet.drivers.resources import NOTHING

RESOURCES = replace(NOTHING, told_by="machines", program=re.compile(r"(?<![\w-])gpu-kubeletplugin(?![\w-])"))
