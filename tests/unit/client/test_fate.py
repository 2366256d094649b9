"""A batch's fate is told once to everybody who watches."""

from cordwood.client.fate import DeliveryReport, Fate
from cordwood.client.places import partitions_of
from cordwood.core.errors import RequestTimedOutError

(PARTITION,) = partitions_of([("t", 2)])


def test_fate_is_told_to_those_who_watch_and_to_those_who_come_late() -> None:
    fate, told = Fate(PARTITION), list[str]()
    fate.watch(lambda: told.append("early"))

    fate.succeed(10, -1)
    fate.watch(lambda: told.append("late"))

    assert told == ["early", "late"]


def test_fate_reports_each_record_with_its_own_timestamp() -> None:
    fate = Fate(PARTITION)

    fate.succeed(10, -1)

    assert fate.report(3, timestamp=99) == DeliveryReport("t", 2, 13, 99)


def test_fate_reports_the_brokers_time_where_it_set_one() -> None:
    fate = Fate(PARTITION)

    fate.succeed(-1, 1234)

    assert fate.report(3, timestamp=99) == DeliveryReport("t", 2, -1, 1234)


def test_fate_keeps_its_error() -> None:
    fate, error = Fate(PARTITION), RequestTimedOutError()

    fate.fail(error)

    assert fate.is_known
    assert fate.error is error
