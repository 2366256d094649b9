"""Every log is looked after, a few at a time, whatever goes wrong with one of them."""

from cordwood.core.errors import KafkaStorageError
from cordwood.storage.log import Log
from cordwood.storage.rounds import Rounds
from tests.unit.storage.manager_samples import House, made, partition


def test_round_comes_to_every_log_and_then_ends() -> None:
    manager = House().load()
    logs, seen = made(manager, 0, 1, 2), list[object]()

    Rounds(manager).go(seen.append, then=lambda: seen.append("end"))

    assert seen == [*logs, "end"]


def test_round_over_many_logs_lets_others_have_their_turn() -> None:
    house = House()
    manager = house.load()
    made(manager, *range(45))
    seen = list[object]()

    Rounds(manager).go(seen.append, then=lambda: seen.append("end"))
    at_once = len(seen)
    house.clock.advance(ms=1)

    assert (at_once, len(seen), seen[-1]) == (20, 46, "end")


def test_round_passes_over_logs_that_have_gone() -> None:
    house = House()
    manager = house.load()
    made(manager, *range(25))
    seen = list[Log]()

    Rounds(manager).go(seen.append, then=list)
    manager.delete(partition(24))
    house.clock.advance(ms=1)

    assert [log.partition.partition for log in seen] == list(range(24))


def test_round_goes_on_behind_a_log_that_cannot_be_looked_after() -> None:
    house = House()
    manager = house.load()
    made(manager, 0, 1)
    seen = list[int]()

    def look(log: Log) -> None:
        seen.append(log.partition.partition)
        raise KafkaStorageError("no")

    Rounds(manager).go(look, then=lambda: seen.append(9))

    assert seen == [0, 1, 9]
    assert house.events == [f"orders-{number} could not be looked after: no" for number in (0, 1)]


def test_round_that_is_stopped_calls_nobody_any_more() -> None:
    house = House()
    manager = house.load()
    made(manager, *range(25))
    rounds, seen = Rounds(manager), list[object]()

    rounds.go(seen.append, then=lambda: seen.append("end"))
    rounds.stop()
    house.clock.advance(ms=1)

    assert len(seen) == 20
