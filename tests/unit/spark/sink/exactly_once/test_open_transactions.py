"""Orphans are aborted by their producer id and epoch, after a look at the driver."""

from cordwood.spark.sink.exactly_once.open_transactions import abort_orphans
from cordwood.spark.sink.exactly_once.sink_requests import Describe, End, ListOpen
from tests.unit.spark.sink.exactly_once.scripted_brokers import (
    DRIVER,
    NAMES,
    ScriptedBrokers,
)


def test_driver_is_checked_between_the_look_and_the_abort() -> None:
    brokers = ScriptedBrokers(open_ids={"s-1.1-1": 8})

    assert brokers.run(abort_orphans(NAMES, DRIVER)) == 1

    assert brokers.requests[:3] == [ListOpen(), Describe(("s-1.1-1",)), Describe(("s-driver",))]
    (end,) = (each for each in brokers.requests if isinstance(each, End))
    assert end.handles == (("s-1.1-1", 8, 0, 2),)


def test_transactions_to_keep_stay() -> None:
    brokers = ScriptedBrokers(open_ids={"s-1.1-1": 8, "s-40.2-2": 9, "s-40.2-3": 9})

    brokers.run(abort_orphans(NAMES, DRIVER, keep=("s-40.2-3",)))

    assert brokers.ended(commit=False) == ["s-1.1-1", "s-40.2-2"]


def test_nothing_is_asked_without_orphans() -> None:
    brokers = ScriptedBrokers(open_ids={"other-1.1-1": 8})

    assert brokers.run(abort_orphans(NAMES, DRIVER)) == 0
    assert brokers.requests == [ListOpen()]
