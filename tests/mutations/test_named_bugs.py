"""Twenty bugs of compactors, historic or possible: each is detected, and named.

The engine cleans a log repeatedly, so that it has every kind of batch. Then the output of the last
pass is changed as the bug would change it, and the verification must report the fault in specific
words.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import pytest

from cordwood.compaction.cleaning_job import CleanedSegment, CleaningResult, Verify
from cordwood.compaction.kernels.kernel_record_verifier import KernelRecordVerifier
from cordwood.compaction.plan.cleaning_plan import CleaningPlan
from cordwood.compaction.proof.batch_reader import ReadOptions
from cordwood.compaction.proof.key_checks import KeyScope
from cordwood.compaction.proof.record_checks import plain_record_verifier
from cordwood.compaction.proof.verifier import verify
from cordwood.core.types import Offset, TimestampMs
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.records.record import Record
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.files import file_names
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.files.file_names import CLEANED, LOG, segment_name
from cordwood.storage.files.header_scan import headers
from cordwood.storage.segment.abstract_index import IndexOrderError
from tests.unit.compaction.both_sides import indexes_of
from tests.unit.compaction.cleaned_log import CleanedLog
from tests.unit.compaction.compaction_samples import HORIZON, NOW, batch
from tests.unit.storage.log_samples import DIRECTORY

Batches = list[bytes]
Change = Callable[["Made"], None]


@dataclass
class Made:
    """The input and the output of the last pass, for a bug to change."""

    log: CleanedLog
    plan: CleaningPlan
    cleaning: CleaningResult
    before: Batches
    after: Batches

    def place_of(self, text: str) -> int:
        """Return which of the batches that are left has a record."""
        key, value = text[:1].encode(), None if text[1:] == "-" else text[1:].encode()
        return next(
            number
            for number, data in enumerate(self.after)
            if any((each.key, each.value) == (key, value) for each in RecordBatch(data).records())
        )

    def was(self, offset: int) -> bytes:
        """Return the batch that ended with an offset."""
        return next(data for data in self.before if RecordBatch(data).last_offset == offset)

    def rebuild(
        self, text: str, change: Callable[[Record], Record | None], **fields: object
    ) -> None:
        """Rewrite the batch of a record with other records or another header."""
        at = self.place_of(text)
        self.after[at] = rebuilt(self.after[at], change, **fields)

    def bring_back(self, offset: int, keep: Callable[[Record], bool]) -> None:
        """Put a batch that is gone, or less of it, where it was."""
        data = rebuilt(self.was(offset), lambda each: each if keep(each) else None)
        self.after = sorted(
            [each for each in self.after if RecordBatch(each).last_offset != offset] + [data],
            key=lambda each: RecordBatch(each).base_offset,
        )


def rebuilt(data: bytes, change: Callable[[Record], Record | None], **fields: object) -> bytes:
    """Return a batch with other records, or with other fields."""
    whole = RecordBatch(data)
    builder = BatchBuilder(BatchFields.of(whole)._replace(**fields))  # type: ignore[arg-type]  # each bug names its own
    for record in whole.records():
        changed = change(record)
        if changed is not None:
            builder.append_record(changed)
    return bytes(builder.build(last_offset=max(whole.last_offset, builder.last_offset)))


def unchanged(record: Record) -> Record:
    return record


def made() -> Made:
    """Let a log live until there is something for every bug."""
    log = CleanedLog()
    log.put(batch(0, "a1 b1 c1"))
    log.send("x1", producer=9)
    log.end(9, is_commit=False)
    log.send("y1", producer=9)
    log.end(9, is_commit=True, is_rolled=True)
    log.put(batch(0, "z1"), is_rolled=True)
    log.clean()
    log.put(batch(0, "z2"), is_rolled=True)
    log.clean()
    log.wait(600)
    log.put(batch(0, "g- h1"), is_rolled=True)
    log.clean()
    log.wait(500)
    packed = BatchFields(codec=Codec.LZ4)
    log.put(batch(0, "k1 l1 m1", fields=packed), is_rolled=True)
    log.send("p1", producer=5, is_transactional=False)
    log.put(batch(0, "d- n1"), rebuilt(batch(0, "o1"), with_headers), is_rolled=True)
    log.send("q1 r1")
    log.end(1, is_commit=False)
    log.send("s1 t1", producer=2)
    log.end(2, is_commit=True, is_rolled=True)
    log.follow(holed(log.log.bounds.log_end))
    log.put(batch(0, "a2 l2 p2 h2"), is_rolled=True)
    log.put(batch(0, "a3"))
    plan = log.plan()
    assert plan is not None
    before = split(log, [(segment.base_offset, "") for segment in plan.segments])
    log.verify = Verify.ALWAYS
    cleaning = log.run(plan)
    after = split(log, [(group.cleaned[0].base_offset, CLEANED) for group in cleaning.groups])
    return Made(log, plan, cleaning, before, after)


def holed(at: int) -> bytes:
    """Return a batch of two records, with an offset between them that has none."""
    builder = BatchBuilder(BatchFields(base_offset=at, partition_leader_epoch=0))
    for offset, key in ((at, b"u"), (at + 2, b"v")):
        builder.append(key, b"1", timestamp=NOW, offset=offset)
    return bytes(builder.build())


def with_headers(record: Record) -> Record:
    return replace(record, headers=(("h", b"1"),))


def split(log: CleanedLog, segments: list[tuple[int, str]]) -> Batches:
    """Return the batches of segments."""
    data = [
        log.place.bytes_of(segment_name(Offset(base), LOG, suffix=suffix))
        for base, suffix in segments
    ]
    return [bytes(each.data) for each in batches(b"".join(data))]


def put(found: Made, extension: str, content: bytes) -> None:
    """Write a file of the one segment that the pass has left."""
    name = segment_name(Offset(0), extension, suffix=CLEANED)
    files, path = found.log.place.files, f"{DIRECTORY}/{name}"
    if name in files.list(DIRECTORY):
        files.remove(path)
    files.create(path).append(content)
    modified_ms = found.plan.segments[-1].modified_ms
    files.set_modified(path, TimestampMs(modified_ms))


def wrongs(found: Made, *, is_indexed: bool = True) -> set[str]:
    """Write the present output, and return the faults of its verification."""
    data = b"".join(found.after)
    put(found, LOG, data)
    if is_indexed:
        offsets, times = indexes(data)
        put(found, file_names.INDEX, offsets)
        put(found, file_names.TIME_INDEX, times)
    (group,) = found.cleaning.groups
    cleaned = group._replace(cleaned=(CleanedSegment(0, len(data)),))
    plain, by_kernels = (
        verify(
            ReadOptions(DirectorySource(found.log.place.files, DIRECTORY), 1 << 16, lambda _: None),
            found.cleaning._replace(groups=(cleaned,)),
            plan=found.plan,
            scope=KeyScope(),
            memory_bytes=1 << 20,
            judges=judges,
        )
        for judges in (plain_record_verifier, KernelRecordVerifier)
    )
    assert plain.violations == by_kernels.violations
    return {violation.what for violation in plain.violations}


def indexes(data: bytes) -> tuple[bytes, bytes]:
    """Return the indexes of batches; none where none can be made."""
    try:
        return indexes_of(0, headers(lambda length, at: data[at : at + length], 0, len(data)))
    except IndexOrderError:
        return b"", b""


# -- the bugs


def drop_a_last_value(found: Made) -> None:
    found.rebuild("k1", lambda record: None if record.key == b"k" else record)


def keep_an_older_one(found: Made) -> None:
    found.bring_back(RecordBatch(found.after[found.place_of("k1")]).last_offset, lambda _: True)


def keep_an_aborted_record(found: Made) -> None:
    offset = next(
        each.last_offset
        for each in map(RecordBatch, found.before)
        if not each.is_control and any(record.key == b"q" for record in each.records())
    )
    found.bring_back(offset, lambda record: record.key == b"q")


def drop_a_committed_one(found: Made) -> None:
    found.rebuild("s1", lambda record: None if record.key == b"t" else record)


def early_tombstone(found: Made) -> None:
    del found.after[found.place_of("g-")]


def late_marker(found: Made) -> None:
    gone = {each.last_offset for each in map(RecordBatch, found.before) if each.is_control} - {
        each.last_offset for each in map(RecordBatch, found.after)
    }
    found.bring_back(min(gone), lambda _: True)


def wrong_offset(found: Made) -> None:
    found.rebuild("v1", lambda record: replace(record, offset=record.offset - (record.key == b"v")))


def swapped_order(found: Made) -> None:
    found.after[0], found.after[1] = found.after[1], found.after[0]


def lost_header(found: Made) -> None:
    found.rebuild("o1", lambda record: replace(record, headers=()))


def changed_timestamp(found: Made) -> None:
    found.rebuild("k1", lambda record: replace(record, timestamp=NOW - 7))


def wrong_base_offset(found: Made) -> None:
    at = found.place_of("b1")
    first = next(RecordBatch(found.after[at]).records()).offset
    assert first > RecordBatch(found.after[at]).base_offset
    found.rebuild("b1", unchanged, base_offset=first)


def lost_last_batch_of_a_producer(found: Made) -> None:
    found.after = [
        data
        for data in found.after
        if RecordBatch(data).count or RecordBatch(data).producer_id != 5
    ]


def horizon_not_set(found: Made) -> None:
    found.rebuild("d-", unchanged, delete_horizon_ms=None)


def horizon_set_twice(found: Made) -> None:
    found.rebuild("g-", unchanged, delete_horizon_ms=HORIZON + 5000)


def segment_skipped(found: Made) -> None:
    at = found.place_of("k1")
    del found.after[at]


def segment_twice(found: Made) -> None:
    found.after += found.after[-2:]


def active_segment_touched(found: Made) -> None:
    found.after.append(batch(found.plan.end, "a3"))


def codec_lost(found: Made) -> None:
    found.rebuild("k1", unchanged, codec=Codec.NONE)


def epoch_cache_wrong(found: Made) -> None:
    found.rebuild("n1", unchanged, partition_leader_epoch=9)


LOST: Final = "the last record of a key was removed"
BUGS: Final[dict[Change, str]] = {
    drop_a_last_value: LOST,
    keep_an_older_one: "a record survives although a later one of its key survives, too",
    keep_an_aborted_record: "a record of an aborted transaction survives",
    drop_a_committed_one: LOST,
    early_tombstone: "a tombstone was removed before its horizon",
    late_marker: "a marker survives after its horizon",
    wrong_offset: "a record without an original",
    swapped_order: "offsets go back",
    lost_header: "the headers of a record has changed",
    changed_timestamp: "the timestamp of a record has changed",
    wrong_base_offset: "the base offset of a batch has changed",
    lost_last_batch_of_a_producer: "the last batch of a producer, or of the pass, was removed",
    horizon_not_set: "the delete horizon is wrong",
    horizon_set_twice: "the delete horizon is wrong",
    segment_skipped: LOST,
    segment_twice: "offsets go back",
    active_segment_touched: "a batch is at or above the end of the pass",
    codec_lost: "the codec of a batch has changed",
    epoch_cache_wrong: "the partition leader epoch of a batch has changed",
}


def test_correct_output_is_verified_as_correct() -> None:
    assert {each for each in wrongs(made()) if "certificate" not in each} == set()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.__name__)
def test_bug_is_found_and_named(bug: Change) -> None:
    found = made()

    bug(found)

    assert BUGS[bug] in wrongs(found)


def test_stale_index_is_found_and_named() -> None:
    found = made()

    put(
        found, file_names.INDEX, found.log.place.bytes_of(segment_name(Offset(0), file_names.INDEX))
    )

    assert "an entry that no batch has" in wrongs(found, is_indexed=False)
