"""Whether one's own catalogue fits the models of what it adds to, told before anything is planned."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import ValidationError

from dra_fleet import clouds, drivers
from dra_fleet.facts.own import PRICES, CatalogueInvalid, own, own_file
from dra_fleet.findings.errors import choices
from dra_fleet.hardware.models import Price

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def check_own_catalogue() -> None:
    """Read everything that one's own catalogue adds to.

    Raises:
        CatalogueInvalid: a cloud, driver or machine is not there, or an entry does not fit its model.
    """
    told = own()
    for name in told.get("clouds", {}):
        _known("clouds", name, clouds.names())
        _read(f"clouds.{name}", lambda name=name: clouds.named(name).machines)
    for name in told.get("drivers", {}):
        _known("drivers", name, drivers.names())
        _read(f"drivers.{name}", lambda name=name: _load_driver(name))
    if told.get(PRICES):
        for name, price in told[PRICES].items():
            _read(f"{PRICES}.{name}", lambda price=price: _fits(price))
        machines = _read(PRICES, clouds.machines)
        for name in told[PRICES]:
            _known(PRICES, name, machines)


def _fits(price: object) -> None:
    Price.model_validate(price)


def _load_driver(name: str) -> None:
    driver = drivers.named(name)
    if driver is not None:
        operator = driver.resources.operator
        _ = driver.facts, driver.accelerators(), operator.versions() if operator is not None else ()


def _known(section: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        raise CatalogueInvalid(
            f"{own_file()}: {section}: there is nothing of that name\n  got: {name}\n  allowed: "
            f"{choices(name, known)}"
        )


def _read(section: str, read: Callable[[], Collection[str] | None]) -> Collection[str]:
    try:
        return read() or ()
    except ValidationError as invalid:
        lines = [
            f"{section}: {invalid.title} {'.'.join(map(str, error['loc']))}: {error['msg']}; "
            f"got: {error['input']}"
            for error in invalid.errors(include_url=False)
        ]
        raise CatalogueInvalid(f"{own_file()}: " + "\n".join(lines)) from None
