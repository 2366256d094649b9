"""A segment with index overflow is split into parts with the same bytes."""

import errno
import random

import pytest

from cordwood.core.types import TimestampMs
from cordwood.storage.files.open_file_cache import OpenFileCache
from cordwood.storage.log import segment_split
from cordwood.storage.log.log_loader import LogPlace, RecoveryOptions, load
from cordwood.storage.log.log_state import LogState
from cordwood.storage.log.segment_split import SegmentPart, parts_of, split
from cordwood.storage.segment.log_segment import LogSegment
from cordwood.testing.file_faults import FileFault, PowerLoss
from tests.unit.storage.log_samples import (
    DIRECTORY,
    NOW,
    PARTITION,
    SMALL,
    LogHarness,
    offsets,
    read,
)
from tests.unit.storage.segment_samples import message, v2

FAR = 1 << 31
SIZE = len(v2(0))
MESSAGE = len(message(0))
WIDE = v2(3, 4) + v2(9) + v2(FAR + 9) + v2(FAR + 10) + v2(3 * FAR)
ENDS = [len(v2(3, 4)) + SIZE, len(v2(3, 4)) + 3 * SIZE, len(WIDE)]
SPANS = [(3, 4), (9, 9), (FAR + 9, FAR + 9), (FAR + 10, FAR + 10), (3 * FAR, 3 * FAR)]
MODIFIED = NOW - 1000


def holding(data: bytes) -> LogHarness:
    """Return a harness with a log of one segment, of offset 0, that has these bytes."""
    harness = LogHarness()
    harness.open().close()
    path = f"{DIRECTORY}/{0:020}.log"
    file = harness.files.open(path, writable=True)
    file.append(data)
    file.sync()
    harness.files.set_modified(path, TimestampMs(MODIFIED))
    return harness


def loaded(harness: LogHarness) -> LogState:
    """Return the state of a loaded log, without recovery of its end."""
    config = SMALL
    at = LogPlace(partition=PARTITION, directory=DIRECTORY, config=config, is_clean=True)
    state, _ = load(
        at,
        harness.ports(),
        table=harness.table(),
        deletions=harness.deletions,
        recovery=RecoveryOptions(),
    )
    return state


def wide(harness: LogHarness, data: bytes) -> tuple[LogState, LogSegment]:
    """Return a log and its segment, whose file was extended by these bytes outside of it."""
    state = loaded(harness)
    segment = state.segments.active
    segment.files.log(writable=True).append(data)
    segment.files.log(writable=True).sync()
    segment.size = len(data)
    harness.files.sync_directory(DIRECTORY)
    return state, segment


def fresh() -> LogHarness:
    harness = LogHarness()
    harness.open().close()
    return harness


def parts(data: bytes) -> list[SegmentPart]:
    return parts_of(wide(fresh(), data)[1])


def test_segment_is_split_where_an_offset_has_no_place() -> None:
    assert parts(WIDE) == [
        SegmentPart(0, 0, ENDS[0]),
        SegmentPart(FAR + 9, ENDS[0], ENDS[1]),
        SegmentPart(3 * FAR, ENDS[1], ENDS[2]),
    ]


def test_segment_within_the_offset_range_is_one_part() -> None:
    data = v2(0) + v2(FAR - 1)

    assert parts(data) == [SegmentPart(0, 0, 2 * SIZE)]
    assert parts(b"") == [SegmentPart(0, 0, 0)]


def test_first_part_keeps_the_base_though_it_is_empty() -> None:
    assert parts(v2(FAR)) == [SegmentPart(0, 0, 0), SegmentPart(FAR, 0, SIZE)]


def test_part_of_old_messages_begins_where_its_first_can_be_reached() -> None:
    near, far = message(5), message(FAR + 2)

    assert parts(near + far) == [SegmentPart(0, 0, MESSAGE), SegmentPart(6, MESSAGE, 2 * MESSAGE)]
    assert parts(near + message(3 * FAR))[1].base_offset == 2 * FAR + 1


@pytest.mark.parametrize("rest", (b"rubbish" * 20, bytes(500), v2(2 * FAR)[:-1], v2(1)))
def test_bytes_that_do_not_follow_stay_in_the_last_part(rest: bytes) -> None:
    data = v2(0) + v2(FAR) + rest

    assert parts(data) == [SegmentPart(0, 0, SIZE), SegmentPart(FAR, SIZE, len(data))]


def test_split_replaces_the_segment_by_its_parts() -> None:
    harness = fresh()
    state, segment = wide(harness, WIDE)

    found = split(state, segment, parts=parts_of(segment), now_ms=NOW)

    assert state.segments.base_offsets == (0, FAR + 9, 3 * FAR)
    assert [each.size for each in found] == [ENDS[0], ENDS[1] - ENDS[0], ENDS[2] - ENDS[1]]
    assert b"".join(each.files.pread(each.size, 0) for each in found) == WIDE
    assert harness.names(".log") == ["0.log", f"{FAR + 9}.log", f"{3 * FAR}.log"]


def test_split_schedules_the_old_files_for_removal() -> None:
    harness = fresh()
    state, segment = wide(harness, WIDE)

    split(state, segment, parts=parts_of(segment), now_ms=NOW)

    gone = [path.rpartition("/")[2].lstrip("0") for path in harness.deletions.paths]
    assert gone == [".log.deleted", ".index.deleted", ".timeindex.deleted"]
    assert harness.names(".deleted") == [f"0{name}" for name in sorted(gone)]


def test_split_keeps_the_time_of_the_last_change() -> None:
    harness = fresh()
    state, segment = wide(harness, WIDE)
    stat = harness.files.stat(segment.files.log_path)
    harness.clock.advance(hours=1)

    found = split(state, segment, parts=parts_of(segment), now_ms=NOW)

    times = {harness.files.stat(each.files.log_path).modified_ms for each in found}
    assert times == {stat.modified_ms}


def test_split_copies_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_split, "COPY_SIZE", 50)
    state, segment = wide(fresh(), WIDE)

    found = split(state, segment, parts=parts_of(segment), now_ms=NOW)

    assert b"".join(each.files.pread(each.size, 0) for each in found) == WIDE


@pytest.mark.parametrize("call", ("create", "append", "sync"))
@pytest.mark.parametrize("first", (1, 2))
def test_split_without_space_changes_no_files(call: str, first: int) -> None:
    harness = fresh()
    state, segment = wide(harness, WIDE)
    before = harness.names()
    fault = FileFault(on=call, path="*.cleaned", first=first, code=errno.ENOSPC)
    harness.files.script.add(fault)

    with pytest.raises(OSError, match="No space"):
        split(state, segment, parts=parts_of(segment), now_ms=NOW)

    assert harness.names() == before
    assert state.segments.base_offsets == (0,)


def test_log_that_is_too_wide_is_split_when_it_is_recovered() -> None:
    harness = holding(WIDE)

    log = harness.open(is_clean=False)

    assert log.report.split == [0]
    assert log.report.recovered == [0, FAR + 9, 3 * FAR]
    assert log.report.fault is None
    assert log.report.truncated_bytes == 0
    assert everything(harness) == SPANS


def everything(harness: LogHarness) -> list[tuple[int, int]]:
    """Return the batches of the whole log."""
    log = harness.open(is_clean=False)
    found: list[tuple[int, int]] = []
    offset = 0
    while offset < log.bounds.log_end:
        found += offsets(read(log, offset))
        offset = found[-1][1] + 1
    return found


@pytest.mark.parametrize("seed", range(4))
def test_split_ends_the_same_after_a_crash_at_any_point(seed: int) -> None:
    chance = random.Random(seed)
    died, write_points = True, 0
    while died:
        harness = holding(WIDE)
        harness.files.script.stop_after(write_points)
        try:
            harness.open(is_clean=False)
            died = False
        except PowerLoss:
            died = True
        pending = range(len(harness.files.pending()))
        harness.files.crash([number for number in pending if chance.random() < 0.5])

        assert everything(harness) == SPANS
        assert harness.names(".log") == ["0.log", f"{FAR + 9}.log", f"{3 * FAR}.log"]
        assert not [name for name in harness.names() if name.endswith((".cleaned", ".swap"))]
        write_points += 1


@pytest.mark.parametrize(
    "kept",
    (
        ("0.log", "0.log.cleaned", "1.log.cleaned"),
        ("0.log", "0.log.cleaned", "1.log.swap"),
        ("0.log", "0.log.swap", "1.log.swap"),
        ("0.log.deleted", "0.log.swap", "1.log.swap"),
        ("0.log.deleted", "0.part", "1.part"),
    ),
)
def test_split_is_finished_or_done_again_from_each_of_its_stages(kept: tuple[str, ...]) -> None:
    near, far = v2(0) + v2(9), v2(FAR) + v2(FAR + 1)
    harness = holding(b"")
    harness.files.remove(f"{DIRECTORY}/{0:020}.log")
    bases = {"0": 0, "1": FAR}
    for short in kept:
        base, _, rest = short.partition(".")
        is_source = rest in ("log", "log.deleted")
        file = harness.files.create(f"{DIRECTORY}/{bases[base]:020}.{rest.replace('part', 'log')}")
        file.append(near + far if is_source else far if base == "1" else near)

    found = everything(harness)

    assert found == [(0, 0), (9, 9), (FAR, FAR), (FAR + 1, FAR + 1)]
    assert harness.names(".log") == ["0.log", f"{FAR}.log"]


def test_split_needs_only_one_open_file() -> None:
    harness = fresh()
    state, segment = wide(harness, WIDE)
    state.table = segment.files.open_files = OpenFileCache(harness.files, 1)

    found = split(state, segment, parts=parts_of(segment), now_ms=NOW)

    assert [each.next_offset() for each in found] == [10, FAR + 11, 3 * FAR + 1]
