"""Tests of the readers of a session."""

from cordwood.broker.partitions.session_readers import SessionReader, SessionReaders
from tests.unit.broker.broker_samples import BrokerHarness
from tests.unit.broker.partitions.test_idle_reader import append, reader_at_the_end


def test_readers_of_a_session_call_the_fetch_that_waits_for_them_last() -> None:
    orders, first, second = BrokerHarness().host(), list[SessionReader](), list[SessionReader]()
    readers = SessionReaders(first.append)
    reader = reader_at_the_end(orders, readers)

    readers.on_move = second.append
    append(orders)

    assert (first, second) == ([], [reader])
