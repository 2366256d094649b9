"""The producer state is rebuilt from the log, and no batch in the log is rejected."""

from cordwood.storage.log.producer_state_rebuild import replay
from cordwood.storage.producers.producer_state_manager import ProducerStateManager
from cordwood.storage.producers.snapshot_files import SnapshotFiles
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.storage.segment.log_segments import LogSegments
from tests.unit.storage.log_samples import batch, marker, produced
from tests.unit.storage.produced import patched
from tests.unit.storage.segment_samples import DIRECTORY, append, created, table

MARKER_VERSION = 71


def segments(*parts: tuple[int, list[bytearray]]) -> LogSegments:
    """Return segments with these batches, by base offset."""
    over = table()
    found = LogSegments()
    for base_offset, batches in parts:
        segment = created(base_offset, over=over)
        for each in batches:
            append(segment, bytes(each))
        found.add(segment)
    return found


def opening(sequence: int, at: int) -> bytearray:
    return produced(sequence, at=at, is_transactional=True)


def damage(segment: LogSegment, position: int) -> None:
    segment.files.log(writable=True).pwrite(bytes(60), position)


def test_replay_restores_sequences_and_transactions_from_the_log() -> None:
    states = ProducerStateManager()
    log = segments((0, [produced(0, 3), batch(at=3), opening(3, at=4)]), (5, [marker(at=5)]))

    warnings = replay(log, states, log_start=0, log_end=6)

    assert warnings == []
    assert states.producers[1].last_sequence == 3
    assert states.map_end_offset == 6
    assert states.first_undecided_offset is None


def test_replay_begins_where_the_states_end() -> None:
    states = ProducerStateManager()
    states.advance(1)
    log = segments((0, [produced(7, producer=(9, 0)), produced(0, at=1)]))

    replay(log, states, log_start=0, log_end=2)

    assert list(states.producers) == [1]


def test_replay_begins_at_the_log_start() -> None:
    states = ProducerStateManager()
    log = segments((0, [produced(7, producer=(9, 0)), produced(0, at=1)]))

    replay(log, states, log_start=1, log_end=2)

    assert list(states.producers) == [1]


def test_replay_ends_before_the_log_end() -> None:
    states = ProducerStateManager()
    log = segments((0, [produced(0), produced(1, at=1), produced(2, at=2)]))

    replay(log, states, log_start=0, log_end=2)

    assert states.producers[1].last_sequence == 1
    assert states.map_end_offset == 2


def test_replay_skips_segments_without_batches() -> None:
    states = ProducerStateManager()
    log = segments((0, []), (10, [produced(0, at=10)]), (20, []))

    replay(log, states, log_start=0, log_end=20)

    assert states.producers[1].last_offset == 10
    assert states.map_end_offset == 20


def test_replay_writes_snapshots_at_the_requested_base_offsets() -> None:
    states = ProducerStateManager()
    log = segments((0, [produced(0)]), (1, [produced(1, at=1)]), (2, [produced(2, at=2)]))
    snapshots = SnapshotFiles(log.first.files.open_files.files, DIRECTORY)

    replay(log, states, log_start=0, log_end=3, snapshot_at=(0, 2), take=snapshots.take)

    assert snapshots.offsets == (2,)
    found = ProducerStateManager()
    snapshots.load_newest(found, log_start_offset=0, now_ms=0)
    assert found.producers[1].last_sequence == 1


def test_batch_outside_its_producers_transaction_is_replayed_with_a_warning() -> None:
    states = ProducerStateManager()
    log = segments((0, [opening(0, at=0), produced(1, at=1), opening(2, at=2)]))

    (warning,) = replay(log, states, log_start=0, log_end=3)

    assert warning.startswith(f"{log.first.files.log_path}: producer 1 with epoch 0 at offset 1: ")
    assert states.producers[1].last_sequence == 2
    assert states.first_undecided_offset == 0


def test_unreadable_marker_is_a_warning_and_ends_no_transaction() -> None:
    states = ProducerStateManager()
    unreadable = patched(bytes(marker(at=1)), MARKER_VERSION, b"\xff\xff")
    log = segments(
        (0, [opening(0, at=0), bytearray(unreadable), produced(0, producer=(2, 0), at=2)])
    )

    (warning,) = replay(log, states, log_start=0, log_end=3)

    assert "a transaction marker's version" in warning
    assert "ends no transaction" in warning
    assert states.first_undecided_offset == 0
    assert list(states.producers) == [1, 2]


def test_rest_of_a_damaged_segment_is_skipped_with_a_warning() -> None:
    states = ProducerStateManager()
    first = [produced(0), produced(1, at=1), produced(7, producer=(9, 0), at=2)]
    log = segments((0, first), (3, [produced(3, at=3)]))
    damage(log.first, len(first[0]))

    (warning,) = replay(log, states, log_start=0, log_end=4)

    assert warning.startswith(f"{log.first.files.log_path}: ")
    assert f"position {len(first[0])}" in warning
    assert [batch.last_sequence for batch in states.producers[1].batches] == [0, 3]
    assert states.map_end_offset == 4
