"""Batches and runs of one segment are read while its file may change."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records.compression import Codec
from cordwood.storage.reader.segment_listing import SegmentChangedError
from cordwood.storage.reader.segment_walk import SegmentBatchRun, SegmentWalk
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.records.segments import legacy
from tests.unit.storage.reader_samples import directory, harm, name, put, segment, spans
from tests.unit.storage.segment_samples import headers_of, marker, message, produced, v2
from tests.unit.workbench.metadata_samples import leader_batch

BATCHES = (v2(0, 1, size=100), v2(2, size=500), v2(3, 4, size=100), message(5), v2(6, size=100))
LOG = b"".join(BATCHES)
ENDS = tuple(sum(map(len, BATCHES[:count])) for count in range(1, 6))


def walk(files: MemoryFiles | None = None, offset: int = 0) -> SegmentWalk:
    opened = segment(files or directory(log=LOG))
    first = opened.find(offset)
    assert first is not None
    return SegmentWalk(opened, first)


def runs(most: int, *, end: int = 99, offset: int = 0) -> list[SegmentBatchRun]:
    return list(walk(offset=offset).runs(end, most))


@pytest.mark.parametrize("most", (61, 100, 300, 700, 5000))
def test_runs_are_whole_batches_and_all_of_them(most: int) -> None:
    found = runs(most)

    assert b"".join(bytes(run.data) for run in found) == LOG
    assert all(headers_of(bytes(run.data)) for run in found)
    assert [run.position for run in found[1:]] == [
        run.position + len(run.data) for run in found[:-1]
    ]
    assert all(len(run.data) <= most or len(headers_of(bytes(run.data))) == 1 for run in found)


@pytest.mark.parametrize("most", (61, 200, 5000))
def test_runs_are_the_same_in_one_window(most: int) -> None:
    window = bytearray(most)

    found = [bytes(run.data) for run in walk().runs(99, most, window=window)]

    assert found == [bytes(run.data) for run in runs(most)]


def test_run_has_its_place_and_its_offsets() -> None:
    run = runs(5000, end=5, offset=2)[0]

    assert run.first_offset == 2
    assert run.next_offset == 5
    assert not run.has_transactions
    assert run.position == ENDS[0]
    assert run.segment_base == 0
    assert run.path == f"/d/t-0/{name(0)}"
    assert spans(headers_of(bytes(run.data))) == [(2, 2), (3, 4)]


@pytest.mark.parametrize("end", (3, 4, 5, 6))
def test_walk_includes_the_wrapper_around_its_end(end: int) -> None:
    wrapper = legacy(1, b"a", b"b", b"c", base_offset=3, codec=Codec.GZIP)
    files = directory(log=v2(0, 2) + wrapper + v2(6))
    last = 2 if end == 3 else 5

    assert [each.next_offset for each in walk(files).batches(end)][-1] == last + 1
    assert [run.next_offset for run in walk(files).runs(end, 5000)][-1] == last + 1


@pytest.mark.parametrize("end", (5, 6))
def test_runs_end_before_the_batch_that_begins_at_the_end(end: int) -> None:
    assert sum(len(run.data) for run in runs(5000, end=end)) == ENDS[end - 3]
    assert sum(len(run.data) for run in runs(300, end=end)) == ENDS[end - 3]


def test_run_reports_transactional_batches() -> None:
    log = produced(0, 1, producer_id=7) + marker(2, producer_id=7, is_commit=True)

    for data in (log, log[len(produced(0, 1, producer_id=7)) :]):
        found = list(walk(directory(log=data), offset=2 if data != log else 0).runs(9, 5000))
        assert [run.has_transactions for run in found] == [True]


def test_run_reports_control_batches_without_a_transaction() -> None:
    (run,) = walk(directory(log=leader_batch(0)), offset=0).runs(9, 5000)

    assert run.has_transactions


def test_batches_have_their_headers() -> None:
    found = list(walk(offset=2).batches(6))

    assert spans(each.header for each in found) == [(2, 2), (3, 4), (5, 5)]
    assert [each.data() for each in found] == list(BATCHES[1:4])
    assert found[0].segment_base == 0
    assert found[0].next_offset == 3
    assert found[0].path == f"/d/t-0/{name(0)}"


def test_batches_are_read_to_the_end_of_the_segment() -> None:
    assert len(list(walk().batches(99))) == 5


@pytest.mark.parametrize("most", (100, 5000))
def test_damage_is_raised_after_all_earlier_batches(most: int) -> None:
    files = directory(log=LOG)
    harm(files, name(0), ENDS[1] + 16)
    read: list[SegmentBatchRun] = []

    with pytest.raises(CorruptMessageError, match="unknown magic") as caught:
        read.extend(SegmentBatchRun(*run) for run in walk(files).runs(99, most))
    with pytest.raises(CorruptMessageError, match=f"{name(0)}: unknown magic"):
        list(walk(files).batches(99))

    assert caught.value.position == ENDS[1]


def test_decreasing_offsets_are_damage() -> None:
    files = directory(log=v2(0) + v2(5) + v2(3) + v2(9))

    for read in (walk(files).runs(99, 61), walk(files).runs(99, 5000), walk(files).batches(99)):
        with pytest.raises(
            CorruptMessageError, match=r"the offsets decrease.*expected at least 6, found 3"
        ):
            list(read)


@pytest.mark.parametrize("cut", (1, 50))
def test_end_inside_a_batch_is_damage(cut: int) -> None:
    files = directory(log=LOG[:-cut])

    for read in (walk(files).runs(99, 61), walk(files).runs(99, 5000), walk(files).batches(99)):
        with pytest.raises(CorruptMessageError, match="runs past the end") as caught:
            list(read)
        assert caught.value.position == ENDS[3]
        assert str(caught.value).count(name(0)) == 1


@pytest.mark.parametrize("data", (LOG[: ENDS[0]], b"", v2(0, 1, size=130) + LOG, b"\xee" * 9000))
def test_walk_ends_when_the_file_is_truncated_or_written_again(data: bytes) -> None:
    files = directory(log=LOG)
    by_runs, by_headers = walk(files), walk(files)
    reading, telling = by_runs.runs(99, 101), by_headers.batches(99)
    assert next(reading).next_offset == next(telling).next_offset == 2

    put(files, name(0), data)
    by_runs.segment.source.stat(name(0))
    by_headers.segment.source.stat(name(0))

    with pytest.raises(SegmentChangedError):
        list(reading)
    assert spans(each.header for each in telling) == spans(headers_of(LOG))[1:]  # of one window


@pytest.mark.parametrize("by_headers", (False, True))
def test_walk_rejects_a_changed_start(*, by_headers: bool) -> None:
    files = directory(log=LOG)
    begun = walk(files, offset=2)

    put(files, name(0), LOG[: ENDS[0]] + BATCHES[4])
    begun.segment.source.stat(name(0))

    with pytest.raises(SegmentChangedError):
        list(begun.batches(99) if by_headers else begun.runs(99, 5000))
