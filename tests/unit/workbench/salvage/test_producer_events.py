"""Events of producers are found by offset."""

from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.producer_events import ProducerEvents

DATA = TransactionEvent(0, 1, 7, 0, 0, 1000)
ABORT = DATA._replace(first=2, last=2, is_commit=False)
LATER = DATA._replace(first=5, last=6)
EMPTY = DATA._replace(first=8, last=8, producer_id=8, is_commit=False)
EVENTS = ProducerEvents((DATA, ABORT, LATER, EMPTY))


def test_events_are_found_by_producer_and_range() -> None:
    assert list(EVENTS) == [7, 8]
    assert EVENTS.of(9) == []
    assert EVENTS.within(7, 1, last=5) == [ABORT, LATER]


def test_aborts_are_those_behind_data_of_their_producers() -> None:
    assert EVENTS.aborts(0, 99) == [2]
    assert EVENTS.aborts(3, 99) == []


def test_events_around_an_offset_are_the_last_one_before_and_the_next_one() -> None:
    assert EVENTS.around(7, 3) == [ABORT, LATER]
    assert EVENTS.around(7, 0) == [DATA]
    assert EVENTS.around(7, 9) == [LATER]
    assert EVENTS.around(9, 9) == []
