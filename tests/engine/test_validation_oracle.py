"""The typed models against the API server of each minor, which gets the same objects.

Selectors are not checked here beyond their length: the CEL checker has a separate reference.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import TYPE_CHECKING, TypeVar, cast

import pytest

from dra_fleet import drivers
from dra_fleet.clusters.client import ApiError
from dra_fleet.drivers.common.selectors import selector
from dra_fleet.kubernetes.devices.claim import ClaimSpec
from dra_fleet.kubernetes.devices.device_class import DeviceClassSpec
from dra_fleet.kubernetes.devices.gates import drop_disabled
from dra_fleet.kubernetes.devices.resource_slice import ResourceSliceSpec
from dra_fleet.kubernetes.devices.validate import validate_object
from dra_fleet.model.classes import IntentClass
from tests.engine_support import FLOOR, NEWEST
from tests.kubernetes.devices.random_objects import ObjectMaker

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Iterator, Mapping

    from dra_fleet.clusters.client import KubeApi, Object
    from dra_fleet.drivers import Driver
    from tests.engine_support import RehearsalWorld, SimulatedCluster

pytestmark = pytest.mark.engine

T = TypeVar("T")

VERSIONS = (FLOOR, "v1.35.4", "v1.36.3", NEWEST)
NAMESPACE = "reference"
ADMIN_ACCESS = {"resource.kubernetes.io/admin-access": "true"}
"""Without this label the server refuses adminAccess, which an object alone does not know."""
OBJECTS = 1200
STORED = 60
BROKEN = 0.012
"""Chance for each value to be wrong; about half of the objects are then valid."""
AT_ONCE = 12
MOST_SHOWN = 5
SPECS = {"DeviceClass": DeviceClassSpec, "ResourceClaim": ClaimSpec, "ResourceSlice": ResourceSliceSpec}

AMOUNTS = ({"min": "20Gi"}, {"max": "81559Mi"}, {"min": "2097152", "max": "2e12"})
SOME_TEXT = r"it's a \ 'quoted' name"
VALUES: Mapping[str, tuple[object, ...]] = {
    "product": (SOME_TEXT,),
    "architecture": (SOME_TEXT,),
    "profile": ("1g.5gb+me",),
    "computeCapability": ({"min": "8.0"}, {"min": "7.5", "max": "9.0.1"}),
    "memory": AMOUNTS,
    "multiprocessors": AMOUNTS,
}


@pytest.fixture(params=VERSIONS)
def cluster(request: pytest.FixtureRequest, rehearsal_simulator: RehearsalWorld) -> SimulatedCluster:
    found = rehearsal_simulator.cluster(request.param)
    asyncio.run(_make_namespace(found))
    return found


def test_verdicts_and_stored_objects_equal_the_api_servers(cluster: SimulatedCluster) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    maker = ObjectMaker(random.Random(seed), BROKEN)
    objects = [_placed(*maker.any()) for _ in range(OBJECTS)]

    answers = asyncio.run(_ask(cluster, objects))

    minor = _minor(cluster.version)
    differences = [
        line
        for value, answer in zip(objects, answers, strict=True)
        for line in _differences(value, answer, minor)
    ]
    assert not differences, f"{len(differences)} differ:\n" + "\n\n".join(differences[:MOST_SHOWN])
    accepted = sum(not isinstance(answer, ApiError) for answer in answers)
    assert OBJECTS / 10 < accepted < OBJECTS * 9 / 10


def test_objects_are_read_back_as_they_were_sent(cluster: SimulatedCluster) -> None:
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown when the test fails
    maker = ObjectMaker(random.Random(seed), 0)
    minor = _minor(cluster.version)
    made = (_placed(*maker.any()) for _ in itertools.count())
    sound = (value for value in made if not validate_object(value["kind"], value, minor))
    objects = list(itertools.islice(sound, STORED))

    read = asyncio.run(_store(cluster, objects))

    assert [_without_empty(value["spec"]) for value in read] == [
        _expected_spec(value, minor) for value in objects
    ]


@pytest.mark.parametrize("driver", list(drivers.known()), ids=lambda driver: driver.name)
def test_every_class_that_can_be_asked_of_a_driver_compiles(
    driver: Driver, cluster: SimulatedCluster
) -> None:
    expressions = {expression for expression in _every_selector(driver) if expression}
    objects = [_device_class(f"c{number}", text) for number, text in enumerate(sorted(expressions))]

    answers = asyncio.run(_ask(cluster, objects))

    refused = [str(answer) for answer in answers if isinstance(answer, ApiError)]
    assert refused == []
    used = {key for key in driver.intents if any(driver.intents[key] in text for text in expressions)}
    assert used == set(driver.intents)


def test_the_server_does_compile_selectors(cluster: SimulatedCluster) -> None:
    (answer,) = asyncio.run(_ask(cluster, [_device_class("wrong", "device.nothing == 1")]))

    assert isinstance(answer, ApiError)
    assert "undefined field 'nothing'" in answer.message


def _every_selector(driver: Driver) -> Iterator[str]:
    """Each key alone and all keys together, for every type; what the driver cannot answer is omitted."""
    for kind in (None, *driver.facts.device_types):
        intents: list[dict[str, object]] = [{}]
        intents += [{key: value} for key in driver.intents for value in VALUES[key]]
        intents.append({key: VALUES[key][-1] for key in driver.intents})
        for intent in intents:
            asked = IntentClass.model_validate({"driver": driver.name, "type": kind, **intent})
            expression, problems = selector(asked, driver)
            yield "" if problems else expression


def _device_class(name: str, expression: str) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": name},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def _minor(version: str) -> str:
    return ".".join(version.removeprefix("v").split(".")[:2])


def _placed(kind: str, value: Object) -> Object:
    if kind in ("ResourceClaim", "ResourceClaimTemplate"):
        value["metadata"]["namespace"] = NAMESPACE
    return value


def _differences(value: Object, answer: Object | ApiError, minor: str) -> list[str]:
    problems = [problem for problem in validate_object(value["kind"], value, minor) if problem.server]
    if isinstance(answer, ApiError):
        return [] if problems else [f"{minor}: the server refuses: {answer.message}\n{value}"]
    if problems:
        return [f"{minor}: the server accepts, we say {'; '.join(map(str, problems))}\n{value}"]
    requested, stored = _expected_spec(value, minor), _without_empty(answer["spec"])
    return [] if requested == stored else [f"{minor}: stored {stored}\nwe say {requested}\nof {value}"]


def _expected_spec(value: Object, minor: str) -> Object:
    """The spec as this minor stores it, by our own models."""
    kind: str = value["kind"]
    kept, _ = drop_disabled(kind, value, minor)
    if kind == "ResourceClaimTemplate":
        inner = ClaimSpec.from_object(kept["spec"]["spec"], as_server=True).to_object()
        return _without_empty({**kept["spec"], "spec": inner})
    return _without_empty(SPECS[kind].from_object(kept["spec"], as_server=True).to_object())


def _without_empty(value: Object) -> Object:
    """Without the empty lists and maps that the server writes or omits as its Go types happen to be.

    And without the moment at which it saw a taint.
    """
    kept = {key: item for key, item in value.items() if key != "timeAdded"}
    slim = {key: item if key == "parameters" else _slim(item) for key, item in kept.items()}
    return {key: item for key, item in slim.items() if item not in (None, [], {}) or key == "parameters"}


def _slim(item: object) -> object:
    if isinstance(item, dict):
        return _without_empty(cast("Object", item))
    if isinstance(item, list):
        return [_slim(one) for one in cast("list[object]", item)]
    return item


async def _ask(cluster: SimulatedCluster, objects: Iterable[Object]) -> list[Object | ApiError]:
    """Return the stored object or the server's refusal, for each object."""
    async with cluster.admin() as api:
        strictly = {"dryRun": "All", "fieldValidation": "Strict"}
        return await _bounded(_answer(api, value, strictly) for value in objects)


async def _answer(api: KubeApi, value: Object, params: Mapping[str, str]) -> Object | ApiError:
    try:
        return await api.create(value, params=params)
    except ApiError as error:
        return error


async def _store(cluster: SimulatedCluster, objects: Iterable[Object]) -> list[Object]:
    async with cluster.admin() as api:
        return await _bounded(_store_one(api, value) for value in objects)


async def _store_one(api: KubeApi, value: Object) -> Object:
    await api.create(value, params={"fieldValidation": "Strict"})
    where = (
        value["apiVersion"],
        value["kind"],
        value["metadata"]["name"],
        value["metadata"].get("namespace"),
    )
    found = await api.get(*where)
    await api.delete(*where)
    return found


async def _bounded(work: Iterable[Awaitable[T]]) -> list[T]:
    limit = asyncio.Semaphore(AT_ONCE)

    async def one(item: Awaitable[T]) -> T:
        async with limit:
            return await item

    return await asyncio.gather(*map(one, work))


async def _make_namespace(cluster: SimulatedCluster) -> None:
    namespace = {"name": NAMESPACE, "labels": ADMIN_ACCESS}
    async with cluster.admin() as api:
        await api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": namespace}, manager="tests")
