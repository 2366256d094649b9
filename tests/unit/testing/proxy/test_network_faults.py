"""Network faults are planned by count, or chosen by seeded chance, and counted."""

import pytest

from cordwood.testing.broker_faults import FaultNotMetError
from cordwood.testing.proxy.network_faults import (
    ConnectionChance,
    FaultKind,
    FaultRates,
    NetworkFaults,
)

ALL_KINDS = FaultRates(close=0.1, drop=0.1, swallow=0.1, delay=0.1, trickle=0.1)


def kinds(faults: NetworkFaults, requests: int, *, connection: int = 1) -> list[FaultKind | None]:
    """Let requests of one connection meet the faults, and return the kinds."""
    chance = ConnectionChance(connection)
    found = [faults.of_request("Produce", chance) for _ in range(requests)]
    for each in found:
        if each is not None:
            each.take_effect()
    return [None if each is None else each.fault.kind for each in found]


def test_fault_affects_the_planned_requests_of_its_api() -> None:
    faults = NetworkFaults()
    armed = faults.on("Produce", first=2, times=2).swallow()
    chance = ConnectionChance(1)
    assert faults.of_request("Fetch", chance) is None

    found = kinds(faults, 4)

    assert found == [None, FaultKind.SWALLOW, FaultKind.SWALLOW, None]
    assert armed.met == 2
    assert faults.counts == {"swallow": 2}


def test_fault_that_was_never_met_fails() -> None:
    faults = NetworkFaults()
    faults.on("Fetch").close()

    with pytest.raises(FaultNotMetError, match="close on Fetch"):
        faults.clear()


def test_fault_that_was_met_fewer_times_than_planned_fails() -> None:
    faults = NetworkFaults()
    faults.on("Produce", times=3).close()
    kinds(faults, 1)

    with pytest.raises(FaultNotMetError, match="close on Produce: met 1 of 3 times"):
        faults.clear()


def test_fault_without_a_number_affects_every_request_from_the_first() -> None:
    faults = NetworkFaults()
    with faults.on("Produce", first=2, times=None).drop():
        assert kinds(faults, 4) == [None, *[FaultKind.DROP] * 3]


def test_fault_ends_with_its_block() -> None:
    faults = NetworkFaults()
    with faults.on("Produce", times=None).drop() as armed:
        kinds(faults, 1)

    assert kinds(faults, 1) == [None]
    assert armed.met == 1
    faults.clear()


def test_unknown_api_is_rejected() -> None:
    with pytest.raises(ValueError, match="unknown API 'Produkt'"):
        NetworkFaults().on("Produkt")
    with pytest.raises(ValueError, match="unknown API 'Produkt'"):
        FaultRates(close=0.5, apis=frozenset({"Produkt"}))


def test_rate_is_a_share() -> None:
    with pytest.raises(ValueError, match=r"the rate close is 1\.5; give a share from 0 to 1"):
        FaultRates(close=1.5)


def test_same_seed_gives_a_connection_the_same_faults() -> None:
    def sequence(seed: int, connection: int) -> list[FaultKind | None]:
        faults = NetworkFaults()
        faults.at_random(ALL_KINDS, seed=seed)
        return kinds(faults, 200, connection=connection)

    assert sequence(7, 1) == sequence(7, 1)
    assert sequence(7, 1) != sequence(8, 1)
    assert sequence(7, 1) != sequence(7, 2)


def test_chance_injects_each_kind_by_its_rate() -> None:
    faults = NetworkFaults()
    armed = faults.at_random(ALL_KINDS, seed=7)

    kinds(faults, 2_000)

    assert armed.met == sum(faults.counts.values())
    assert set(faults.counts) == {"close", "drop", "swallow", "delay", "trickle"}
    assert all(120 < count < 280 for count in faults.counts.values())


def test_chance_can_be_limited_to_apis() -> None:
    faults = NetworkFaults()
    faults.at_random(FaultRates(close=1.0, apis=frozenset({"Fetch"})), seed=7)

    assert kinds(faults, 3) == [None] * 3
    assert faults.of_request("Fetch", ConnectionChance(1)) is not None


def test_chance_affects_connections() -> None:
    faults = NetworkFaults()
    with faults.at_random(FaultRates(refuse=0.5, hang=0.5), seed=7):
        found = [faults.of_connection(ConnectionChance(each)) for each in range(50)]
        for each in found:
            assert each is not None
            each.take_effect()

    assert set(faults.counts) == {"refuse", "hang"}
    assert faults.of_connection(ConnectionChance(1)) is None
