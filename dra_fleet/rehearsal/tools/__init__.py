"""The programs a rehearsal runs: found on this machine, downloaded as released, or built from Go modules.

`ensure` returns where they are. It starts none of them for longer than it takes to ask for a version, and it
writes only below the cache directory (`$DRA_FLEET_CACHE`, else the system's place for caches).
"""

from dra_fleet.rehearsal.tools.cache import ToolsError
from dra_fleet.rehearsal.tools.ensuring import ensure, helm
from dra_fleet.rehearsal.tools.toolset import Toolset, actionlint, for_language, for_tests, reference

__all__ = ["ToolsError", "Toolset", "actionlint", "ensure", "for_language", "for_tests", "helm", "reference"]
