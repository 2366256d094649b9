"""Transactional ids of a process are used again two batches later."""

from cordwood.spark.sink.exactly_once.sink_names import Incarnation
from cordwood.spark.sink.exactly_once.transactional_ids import TaskPlace, TransactionalIds

MINE = Incarnation(1, 0)


def taken(ids: TransactionalIds, batch: int, attempt_id: int, sink: str = "s") -> int:
    return ids.take(sink, MINE, batch=batch, place=TaskPlace(0, 0, attempt_id))


def test_each_attempt_of_a_batch_has_its_own_id() -> None:
    ids = TransactionalIds()

    assert [taken(ids, 0, attempt) for attempt in (5, 6)] == [5, 6]


def test_id_is_not_used_in_the_next_batch() -> None:
    ids = TransactionalIds()

    assert [taken(ids, batch, batch + 5) for batch in (0, 1)] == [5, 6]


def test_id_is_used_again_after_two_batches() -> None:
    ids = TransactionalIds()

    assert [taken(ids, batch, batch + 5) for batch in range(6)] == [5, 6, 5, 6, 5, 6]


def test_sinks_and_incarnations_share_no_ids() -> None:
    ids = TransactionalIds()
    taken(ids, 0, 5)

    assert taken(ids, 2, 9, sink="other") == 9
    assert ids.take("s", Incarnation(1, 1), batch=2, place=TaskPlace(0, 0, 8)) == 8
