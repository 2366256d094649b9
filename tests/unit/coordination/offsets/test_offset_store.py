"""The store of offsets: transactional commits count from their marker on."""

from collections.abc import Callable

import pytest

from cordwood.coordination.coordinator_record import StoredMarker
from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.offsets.group_partition_map import GroupPartition, GroupPartitionMap
from cordwood.coordination.offsets.offset_store import OffsetStore
from tests.unit.coordination.offset_samples import commit_value, stored

KEY = GroupPartition("g", "orders", 0)


def store_of(*records: tuple[int, int | None, int]) -> OffsetStore:
    """Return a store with records: offset in the log, committed offset, producer id."""
    store = OffsetStore()
    for at, offset, producer_id in records:
        value = None if offset is None else commit_value(offset)
        store.replay(stored(at, value, producer_id=producer_id))
    return store


def committed(store: OffsetStore) -> int | None:
    """Return the committed offset of the partition."""
    offset = store.get(KEY)
    return None if offset is None else offset.offset


def commit_of(producer_id: int, *, is_commit: bool = True) -> StoredMarker:
    return StoredMarker(producer_id, 0, 9, is_commit)


def test_last_record_wins() -> None:
    assert committed(store_of((0, 10, -1), (1, 5, -1))) == 5


def test_run_is_committed_beside_pending_offsets() -> None:
    store = store_of((0, 10, 7), (1, 3, -1))
    offsets = {each: CommittedOffset.of(commit_value(5), 2 + each) for each in (0, 1)}

    store.replay_run(CommittedRun("g", "orders", 0, offsets, 3))

    assert store.of_group("g") == {"orders": offsets}
    assert store.is_pending(KEY)


def test_transactional_record_is_pending_until_its_marker() -> None:
    store = store_of((0, 10, 7))
    assert committed(store) is None
    assert store.is_pending(KEY)

    store.replay_marker(commit_of(7))

    assert committed(store) == 10
    assert not store.is_pending(KEY)
    assert not store.has_pending("g")


def test_abort_drops_the_pending_offset() -> None:
    store = store_of((0, 3, -1), (1, 10, 7))

    store.replay_marker(commit_of(7, is_commit=False))

    assert committed(store) == 3
    assert not store.is_pending(KEY)


def test_marker_of_another_producer_changes_nothing() -> None:
    store = store_of((0, 10, 7))

    store.replay_marker(commit_of(8))

    assert committed(store) is None
    assert store.is_pending(KEY)


def test_later_record_wins_over_the_earlier_one_of_a_transaction() -> None:
    store = store_of((0, 10, 7), (1, 5, -1))

    store.replay_marker(commit_of(7))

    assert committed(store) == 5


def test_transactions_that_interleave_end_with_the_last_record() -> None:
    store = store_of((0, 10, 7), (1, 20, 8))

    store.replay_marker(commit_of(8))
    assert store.is_pending(KEY)
    store.replay_marker(commit_of(7))

    assert committed(store) == 20
    assert not store.is_pending(KEY)


def test_tombstone_drops_committed_and_pending_offsets() -> None:
    store = store_of((0, 3, -1), (1, 10, 7), (2, 20, 8), (3, None, -1))
    assert not store.is_pending(KEY)

    store.replay_marker(commit_of(7))
    store.replay_marker(commit_of(8))

    assert committed(store) is None


def test_tombstone_of_an_unknown_offset_changes_nothing() -> None:
    assert committed(store_of((0, None, -1))) is None


def test_partitions_of_a_group_are_named_once() -> None:
    store = store_of((0, 3, -1), (1, 10, 7))
    store.replay(stored(2, commit_value(1), producer_id=7, partition=1))
    store.replay(stored(3, commit_value(1), group_id="other"))

    assert list(store.partitions_of("g")) == [KEY, KEY._replace(partition=1)]
    assert list(store.topics()) == ["orders"]
    assert [len(list(each)) for each in store.maps()] == [2, 2]


def test_marker_of_many_offsets_takes_one_step_for_each_topic(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The marker of 49,000 offsets took 120 ms, since each was put and closed by itself."""
    store, partitions = OffsetStore(), 1_000
    for number in range(partitions):
        store.replay(stored(number, commit_value(5), producer_id=7, partition=number))
    steps = list[str]()
    for name in ("get", "put", "put_all", "remove", "remove_all"):
        monkeypatch.setattr(GroupPartitionMap, name, counted_call(name, steps))

    store.replay_marker(StoredMarker(7, 0, partitions, is_commit=True))

    assert sorted(steps) == ["put_all", "remove_all"]
    assert len(store.of_group("g")["orders"]) == partitions
    assert not store.has_pending("g")


def test_producers_that_share_a_partition_end_by_themselves() -> None:
    store = store_of((0, 10, 7), (1, 20, 8), (2, 30, 7))

    store.replay_marker(commit_of(7, is_commit=False))
    before = store.is_pending(KEY)
    store.replay_marker(commit_of(8))

    assert (before, store.is_pending(KEY)) == (True, False)
    assert committed(store) == 20


def counted_call(name: str, steps: list[str]) -> Callable[..., object]:
    """Return a method of the map that notes its calls."""
    method = getattr(GroupPartitionMap, name)

    def call(*arguments: object, **named: object) -> object:
        steps.append(name)
        return method(*arguments, **named)

    return call
