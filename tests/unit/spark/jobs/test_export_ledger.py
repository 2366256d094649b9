"""What a table says of itself, and what it lets be added."""

import json

import pytest

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.export_ledger import (
    RANGES,
    STANDING,
    Held,
    Shape,
    Standing,
    Stretch,
    check_start,
    empty,
    grown,
    notes,
    read_standing,
    standing_text,
)

ORDERS = TopicPartition(TopicName("the-orders"), PartitionId(3))
SHAPE = Shape(columns=("topic", "partition", "offset"), partition_by=("topic",))
TABLE = "lake/orders"


def _after(*stretches: Stretch) -> Standing:
    return grown(empty(SHAPE), stretches, shape=SHAPE, table=TABLE)


def test_first_commit_begins_anywhere() -> None:
    standing = _after(Stretch(ORDERS, 40, 60, records=18))

    assert standing.held == {ORDERS: Held(40, 60, 18)}


def test_next_commit_goes_on_where_the_table_ends() -> None:
    standing = _after(Stretch(ORDERS, 0, 60, records=18), Stretch(ORDERS, 60, 65, records=5))

    assert standing.held == {ORDERS: Held(0, 65, 23)}


def test_commit_that_would_repeat_offsets_is_refused_by_name() -> None:
    with pytest.raises(TableError) as refused:
        grown(_after(Stretch(ORDERS, 0, 60)), [Stretch(ORDERS, 50, 70)], shape=SHAPE, table=TABLE)

    assert str(refused.value) == (
        "lake/orders: ends at offset 60 and would have offsets 50 to 59 of the-orders-3 twice; "
        "leave the starting options out: an export goes on where the table ends"
    )


def test_commit_that_would_skip_offsets_is_refused_by_name() -> None:
    with pytest.raises(TableError, match="would lack offsets 60 to 61 of the-orders-3"):
        grown(_after(Stretch(ORDERS, 0, 60)), [Stretch(ORDERS, 62, 70)], shape=SHAPE, table=TABLE)


def _of_topic(topic_id: str, before: Standing | None = None) -> Standing:
    before = before or empty(SHAPE)
    end = max((held.end for held in before.held.values()), default=0)
    ids = {"the-orders": topic_id} if topic_id else {}
    return grown(before, [Stretch(ORDERS, end, end + 5)], shape=SHAPE, table=TABLE, topic_ids=ids)


def test_records_of_another_topic_of_the_same_name_are_refused() -> None:
    with pytest.raises(TableError) as refused:
        _of_topic("B", _of_topic("A"))

    assert str(refused.value) == (
        "lake/orders: has the topic the-orders whose id is A, and is offered B; the topic was "
        "deleted and made anew, or is another cluster's: take another table for it"
    )


def test_table_without_ids_takes_the_one_that_it_meets_first() -> None:
    standing = _of_topic("A", _of_topic(""))

    assert standing.topic_ids == {"the-orders": "A"}
    assert _of_topic("", standing).topic_ids == {"the-orders": "A"}
    assert read_standing(standing_text(standing), table=TABLE) == standing


def test_standing_of_a_table_that_knows_no_ids_is_read() -> None:
    said = json.loads(standing_text(_of_topic("A")))
    del said["topic_ids"]

    assert read_standing(json.dumps(said), table=TABLE) == _of_topic("")


def test_offsets_that_the_log_had_no_more_are_kept_in_mind() -> None:
    standing = _after(Stretch(ORDERS, 0, 60), Stretch(ORDERS, 60, 90, records=10, lost=20))

    assert standing.held[ORDERS] == Held(0, 90, 10, ((60, 80),))


def test_rows_of_another_shape_are_refused() -> None:
    other = Shape(columns=("topic", "partition", "offset"), is_committed=False)

    with pytest.raises(TableError, match="has partition_by = topic, and is offered none"):
        grown(_after(), [], shape=other, table=TABLE)


def test_start_of_a_partition_that_the_table_lacks_is_free() -> None:
    check_start(empty(SHAPE), ORDERS, start=1234, table=TABLE)


def test_standing_is_read_as_it_was_written() -> None:
    standing = _after(Stretch(ORDERS, 0, 60, 7), Stretch(ORDERS, 60, 90, records=10, lost=20))

    said = notes([Stretch(ORDERS, 60, 90, records=10, lost=20)], standing)

    assert said[RANGES] == '{"the-orders-3":[60,90,10,20]}'
    assert read_standing(said[STANDING], table=TABLE) == standing


@pytest.mark.parametrize("text", ("", "{}", "[]", '{"format": 2}', '{"format": 1, "columns": 3}'))
def test_standing_that_is_none_of_ours_is_refused(text: str) -> None:
    with pytest.raises(TableError, match=r"lake/orders: its cordwood.standing cannot be read"):
        read_standing(text, table=TABLE)
