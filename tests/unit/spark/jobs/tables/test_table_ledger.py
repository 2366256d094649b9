"""State of a table, and the commits that it accepts."""

import json

import pytest

from cordwood.core.errors import TableError
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.spark.jobs.tables.table_ledger import (
    RANGES_KEY,
    STATE_KEY,
    CommitRange,
    ExportedOffsets,
    TableLayout,
    TableState,
    add_leader_epochs,
    apply_commit,
    check_leader_epochs,
    check_start,
    commit_metadata,
    empty_state,
    format_state,
    parse_ranges,
    parse_state,
)

ORDERS = TopicPartition(TopicName("the-orders"), PartitionId(3))
LAYOUT = TableLayout(columns=("topic", "partition", "offset"), partition_by=("topic",))
TABLE = "lake/orders"


def _after(*stretches: CommitRange) -> TableState:
    return apply_commit(empty_state(LAYOUT), stretches, layout=LAYOUT, table=TABLE)


def test_first_commit_begins_anywhere() -> None:
    state = _after(CommitRange(ORDERS, 40, 60, records=18))

    assert state.exported == {ORDERS: ExportedOffsets(40, 60, 18)}


def test_next_commit_begins_at_the_end_of_the_table() -> None:
    state = _after(CommitRange(ORDERS, 0, 60, records=18), CommitRange(ORDERS, 60, 65, records=5))

    assert state.exported == {ORDERS: ExportedOffsets(0, 65, 23)}


def test_commit_that_repeats_offsets_is_rejected() -> None:
    with pytest.raises(TableError) as rejected:
        apply_commit(
            _after(CommitRange(ORDERS, 0, 60)),
            [CommitRange(ORDERS, 50, 70)],
            layout=LAYOUT,
            table=TABLE,
        )

    assert str(rejected.value) == (
        "lake/orders: offsets 50 to 59 of the-orders-3 would be duplicated (the table ends at "
        "offset 60); remove the starting options: an export resumes at the end of the table"
    )


def test_commit_that_skips_offsets_is_rejected() -> None:
    with pytest.raises(TableError, match="offsets 60 to 61 of the-orders-3 would be missing"):
        apply_commit(
            _after(CommitRange(ORDERS, 0, 60)),
            [CommitRange(ORDERS, 62, 70)],
            layout=LAYOUT,
            table=TABLE,
        )


def _of_topic(topic_id: str, before: TableState | None = None) -> TableState:
    before = before or empty_state(LAYOUT)
    end = max((held.end for held in before.exported.values()), default=0)
    ids = {"the-orders": topic_id} if topic_id else {}
    return apply_commit(
        before, [CommitRange(ORDERS, end, end + 5)], layout=LAYOUT, table=TABLE, topic_ids=ids
    )


def test_records_of_another_topic_of_the_same_name_are_rejected() -> None:
    with pytest.raises(TableError) as rejected:
        _of_topic("B", _of_topic("A"))

    assert str(rejected.value) == (
        "lake/orders: topic the-orders has another id (table: A, log: B); the topic was deleted "
        "and created again, or is of another cluster; use another table"
    )


def test_table_without_topic_ids_adopts_the_first_one() -> None:
    state = _of_topic("A", _of_topic(""))

    assert state.topic_ids == {"the-orders": "A"}
    assert _of_topic("", state).topic_ids == {"the-orders": "A"}
    assert parse_state(format_state(state), table=TABLE) == state


def test_state_without_topic_ids_is_parsed() -> None:
    parsed = json.loads(format_state(_of_topic("A")))
    del parsed["topic_ids"]

    assert parse_state(json.dumps(parsed), table=TABLE) == _of_topic("")


def test_lost_offsets_are_part_of_the_state() -> None:
    state = _after(CommitRange(ORDERS, 0, 60), CommitRange(ORDERS, 60, 90, records=10, lost=20))

    assert state.exported[ORDERS] == ExportedOffsets(0, 90, 10, ((60, 80),))


def test_rows_of_another_layout_are_rejected() -> None:
    other = TableLayout(columns=("topic", "partition", "offset"), is_committed=False)

    with pytest.raises(TableError, match=r"partition_by differs \(table: topic, export: none\)"):
        apply_commit(_after(), [], layout=other, table=TABLE)


def test_new_partition_begins_anywhere() -> None:
    check_start(empty_state(LAYOUT), ORDERS, start=1234, table=TABLE)


def test_state_is_parsed_as_it_was_formatted() -> None:
    state = _after(CommitRange(ORDERS, 0, 60, 7), CommitRange(ORDERS, 60, 90, records=10, lost=20))

    parsed = commit_metadata([CommitRange(ORDERS, 60, 90, records=10, lost=20)], state)

    assert parsed[RANGES_KEY] == '{"the-orders-3":[60,90,10,20]}'
    assert parse_state(parsed[STATE_KEY], table=TABLE) == state


@pytest.mark.parametrize("text", ("", "{}", "[]", '{"format": 2}', '{"format": 1, "columns": 3}'))
def test_unreadable_state_is_rejected(text: str) -> None:
    with pytest.raises(TableError, match=r"lake/orders: cordwood\.standing cannot be read"):
        parse_state(text, table=TABLE)


def test_state_keeps_the_latest_leader_epochs_as_text() -> None:
    state = add_leader_epochs(_after(CommitRange(ORDERS, 0, 60)), {ORDERS: 5})

    later = add_leader_epochs(state, {ORDERS: 4})

    assert parse_state(format_state(later), table=TABLE).leader_epochs == {ORDERS: 5}


def test_later_leader_epoch_below_the_end_of_the_table_is_rejected() -> None:
    state = add_leader_epochs(_after(CommitRange(ORDERS, 0, 60)), {ORDERS: 5})

    check_leader_epochs(state, {ORDERS: 60}, table=TABLE)
    with pytest.raises(TableError, match="the log was truncated to offset 59 after the export"):
        check_leader_epochs(state, {ORDERS: 59}, table=TABLE)


def test_ranges_of_a_commit_are_read_back() -> None:
    ranges = [CommitRange(ORDERS, 0, 60, 18, 3)]
    text = commit_metadata(ranges, _after(*ranges))[RANGES_KEY]

    assert parse_ranges(text, table=TABLE) == ranges
    with pytest.raises(TableError, match=r"cordwood.ranges cannot be read"):
        parse_ranges("[]", table=TABLE)


def test_state_of_1000_partitions_is_75_kb_at_most() -> None:
    """Each snapshot of an Iceberg table has it."""
    partitions = [TopicPartition(ORDERS.topic, PartitionId(number)) for number in range(1000)]
    ranges = [CommitRange(each, 0, 10**12, records=10**12) for each in partitions]
    state = add_leader_epochs(_after(*ranges), dict.fromkeys(partitions, 100))

    text = format_state(state)

    assert len(text) <= 75_000
    assert parse_state(text, table=TABLE) == state
