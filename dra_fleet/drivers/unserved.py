"""Published DRA drivers of which too little is known to serve them; stack files describe them."""

from functools import cache

from dra_fleet.core.facts import Entry, by_name, read


class UnservedDriver(Entry):
    """One of them, by the name that people give it.

    Attributes:
        publishes: The name in its ResourceSlices.
        chart: Where its chart is.
        values: What that needs, as YAML; empty for nothing.
        why: What is not known of it, a sentence without its period.
    """

    name: str
    publishes: str
    chart: str
    values: str = ""
    why: str

    @property
    def description(self) -> str:
        """What to write of it in a stack file."""
        values = f", values: {self.values}" if self.values else ""
        return f"described: {{publishes: {self.publishes}, chart: {self.chart}}}{values}"


@cache
def unserved() -> dict[str, UnservedDriver]:
    """All of them by name."""
    entries = read("dra_fleet.drivers", "unserved.yaml")["drivers"]
    return by_name(UnservedDriver.model_validate(entry) for entry in entries)
