"""The catalogue of machines: checks of your own catalogue, and a search by accelerator, cloud and memory."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from msgspec import Struct
from pydantic import ValidationError

from dra_fleet import clouds, drivers
from dra_fleet.core.facts import PRICES, CatalogueInvalid, own, own_file
from dra_fleet.core.findings.errors import ExpectedError, choices, message_of, mistyped
from dra_fleet.kubernetes.devices.quantity import Quantity
from dra_fleet.model.hardware import Machine, Price

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator


def check_own_catalogue() -> None:
    """Read everything that one's own catalogue adds to.

    Raises:
        CatalogueInvalid: a cloud, driver or machine is not there, or an entry does not fit its model.
    """
    reported = own()
    for name in reported.get("clouds", {}):
        _known("clouds", name, clouds.names())
        _read(f"clouds.{name}", lambda name=name: clouds.named(name).machines)
    for name in reported.get("drivers", {}):
        _known("drivers", name, drivers.names())
        _read(f"drivers.{name}", lambda name=name: _load_driver(name))
    if reported.get(PRICES):
        for name, price in reported[PRICES].items():
            _read(f"{PRICES}.{name}", lambda price=price: _fits(price))
        machines = _read(PRICES, clouds.machines)
        for name in reported[PRICES]:
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
            f"{section}: {invalid.title} {'.'.join(map(str, error['loc']))}: {message_of(error)}; "
            f"got: {error['input']}"
            for error in invalid.errors(include_url=False)
        ]
        raise CatalogueInvalid(f"{own_file()}: " + "\n".join(lines)) from None


_NOTHING = Machine(
    name="small", cloud="", gpu=None, gpus=0, cpus=2, memory_gib=None, source="", date=date.min
)
"""A driver that serves it serves any machine, which reports nothing of one."""


_MIB = 1024**2


class NoSuchOffer(ExpectedError):  # noqa: N818 - that is the sentence
    """The lookup has no known criteria."""


class Offer(Struct, frozen=True, kw_only=True):
    """A machine type.

    Attributes:
        name: Value of a pool's `machine`.
        cloud: The cloud that sells it.
        accelerators: Number of accelerators.
        accelerator: Their model, or their generation.
        memory_mib: The memory of one as its driver reports it; None where no public figure is known.
        cpus: Number of vCPUs.
        host_gib: Memory of the machine.
        arch: Their architecture.
        drivers: DRA drivers that serve it.
        per_hour: US dollars on demand with Linux, where a public price was found.
        reserved_only: True if it is not sold on demand.
        source: Source of the entry.
    """

    name: str
    cloud: str
    accelerators: int
    accelerator: str | None
    memory_mib: int | None
    cpus: int
    host_gib: int | None
    arch: str | None
    drivers: tuple[str, ...]
    per_hour: float | None
    reserved_only: bool
    source: str


class Offers(Struct, frozen=True, kw_only=True):
    """The machines that were looked for; `memory_unknown` names those that may be among them."""

    offers: tuple[Offer, ...]
    memory_unknown: tuple[str, ...] = ()


def find_offers(*, accelerator: str = "", cloud: str = "", least: str = "") -> Offers:
    """Look for machines.

    Args:
        accelerator: a part of their accelerator's model, in any case.
        cloud: their cloud; empty for all.
        least: the least memory of one accelerator, a quantity such as 40Gi; empty for any.

    Raises:
        CatalogueInvalid: The custom catalogue is invalid.
        NoSuchOffer: Unknown cloud or model, or `least` is not a quantity of memory.
    """
    check_own_catalogue()
    if cloud and cloud not in clouds.names():
        raise _refused("unknown cloud", cloud, clouds.names(), meant=clouds.of_vendor(cloud))
    every = list(_offers([cloud] if cloud else clouds.names()))
    found = [offer for offer in every if accelerator.lower() in (offer.accelerator or "").lower()]
    if not found and every:
        known = {offer.accelerator for offer in every if offer.accelerator}
        raise _refused("no machine has an accelerator of that name", accelerator, known)
    if not least:
        return Offers(offers=tuple(found))
    try:
        bound = Quantity.parse(least).amount
    except ValueError as problem:
        raise NoSuchOffer(f"{problem}; fix: write one such as 40Gi") from problem
    if bound < _MIB:
        raise NoSuchOffer(f"{least} bytes are less than any accelerator has; fix: write one such as 40Gi")
    return Offers(
        offers=tuple(offer for offer in found if (offer.memory_mib or 0) * _MIB >= bound),
        memory_unknown=tuple(offer.name for offer in found if offer.accelerator and not offer.memory_mib),
    )


def _refused(what: str, got: str, known: Collection[str], meant: str = "") -> NoSuchOffer:
    proposal = mistyped(meant or got, known)
    fix = f"\n  fix: {proposal}" if proposal else ""
    return NoSuchOffer(f"{what}\n  got: {got}\n  allowed: {choices(got, known)}{fix}")


def _offers(names: Iterable[str]) -> Iterator[Offer]:
    """All machines of some clouds, in the order of the catalogue."""
    memory = drivers.accelerators()
    serving = [driver for driver in drivers.known() if not driver.serves(_NOTHING)]
    for name in names:
        for machine in clouds.named(name).machines.values():
            every = (driver.accelerators_of(machine) for driver in drivers.known())
            installed = [each for each in every if each is not None]
            yield Offer(
                name=machine.name,
                cloud=name,
                accelerators=sum(each.count for each in installed),
                accelerator=installed[0].model if installed else None,
                memory_mib=memory.get(installed[0].model) if installed else None,
                cpus=machine.cpus,
                host_gib=machine.memory_gib,
                arch=machine.arch,
                drivers=tuple(driver.name for driver in serving if driver.serves(machine)),
                per_hour=machine.price.per_hour if machine.price else None,
                reserved_only=machine.reserved_only,
                source=machine.source,
            )
