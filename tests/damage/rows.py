"""Rows of the table of damage: each kind of damage, and each legal oddity, on its logs."""

from collections.abc import Iterator

from tests.damage.healthy_logs import HEALTHY, checkpoint
from tests.damage.kinds import (
    END,
    EPOCHS,
    FIRST,
    INDEX,
    LAST,
    LOG,
    MIDDLE,
    SNAPSHOT,
    TIMEINDEX,
    TXNINDEX,
    Change,
    Kind,
    alone,
    batches_in_values,
    beside,
    checkpoint_from_elsewhere,
    cut,
    doubled_batch,
    doubled_segment,
    emptied,
    emptied_by_a_cleaner,
    entry_byte,
    epochs,
    false_entry,
    file,
    garbage_behind,
    gone,
    header_field,
    headers_in_values,
    hurt_marker,
    index_byte,
    late_time,
    log_append_time,
    lost_entries,
    lost_last_entries,
    nothing,
    only_indexes_left,
    only_logs,
    preallocated,
    removed,
    renamed,
    segment_gone,
    shortened,
    sibling,
    snapshot_bit,
    snapshot_field,
    snapshot_of_the_future,
    swapped_batches,
    swapped_entries,
    swapped_indexes,
    unclean,
    value_bit,
    wrong_count,
    wrong_max_timestamp,
    wrong_records,
    zeroed_batch,
)
from tests.damage.leftovers import first_log, newest_snapshots_gone, pending
from tests.unit.storage.log_samples import headers_of
from tests.unit.workbench.metadata_samples import metadata_batch, topic


def kinds() -> Iterator[Kind]:
    """Yield all rows, in the order of the table."""
    yield from _log_kinds()
    yield from _index_kinds()
    yield from _transaction_kinds()
    yield from _fact_kinds()
    yield from _compacted_kinds()
    yield from _stopped_cleaners()
    yield from _directory_kinds()
    yield from _oddities()


def _log_kinds() -> Iterator[Kind]:
    for name in HEALTHY:
        yield Kind("a flipped bit in a record", name, value_bit)
    v2 = "v2 none"
    yield Kind("base offset of a batch: a bit", v2, header_field(7, 0x40))
    yield Kind("size of a batch: a bit", v2, header_field(10, 0x20))
    yield Kind("leader epoch of a batch: the sign bit", v2, header_field(12, 0x80))
    yield Kind("leader epoch of a batch: a bit", v2, header_field(15, 4))
    yield Kind("magic of a batch: a bit", v2, header_field(16, 4))
    yield Kind("checksum of a batch: a bit", v2, header_field(17))
    yield Kind("unused attribute bit of a batch", v2, header_field(21, 0x40))
    for name in (v2, "v2 zstd"):
        yield Kind("record count too large, with a right checksum", name, wrong_count(7))
        yield Kind("record count too small, with a right checksum", name, wrong_count(2))
        yield Kind("unreadable records, with a right checksum", name, wrong_records)
        for title, by in (("low", -5), ("high", 3_600_000)):
            wrong_time = f"max timestamp of a batch too {title}, with a right checksum"
            yield Kind(wrong_time, name, wrong_max_timestamp(by))
    values = "header of a batch damaged, and its values are"
    yield Kind(f"{values} batches", v2, batches_in_values)
    yield Kind(f"{values} headers that claim batches", v2, headers_in_values)
    yield Kind("a batch of zeros", v2, zeroed_batch)
    yield Kind("garbage behind a closed segment", v2, garbage_behind(MIDDLE))
    yield Kind("garbage behind the active segment", v2, garbage_behind(LAST))
    yield Kind("closed segment cut within a batch", v2, cut(MIDDLE, rest=70))
    yield Kind("closed segment cut between batches", v2, cut(MIDDLE, rest=0))
    yield Kind("closed segment emptied", v2, emptied(MIDDLE, LOG))
    yield Kind("active segment cut within a batch, clean stop", v2, cut(LAST, rest=70))
    yield Kind("active segment cut between batches, clean stop", v2, cut(LAST, rest=0))
    yield Kind("active segment cut between batches, copied alone", v2, alone(cut(LAST, rest=0)))
    yield Kind("active segment cut, only its indexes show it", v2, only_indexes_left)
    yield Kind("active segment's .log gone, copied alone", v2, alone(removed(LAST, LOG)))
    yield Kind("two batches exchanged", v2, swapped_batches)
    yield Kind("a batch twice", v2, doubled_batch)
    yield Kind("a segment twice, under another name", v2, doubled_segment)
    yield Kind("invalid name of a segment", v2, renamed)
    for name in (v2, "v1 gzip"):
        yield Kind("middle segment gone, all files", name, removed(MIDDLE))
        yield Kind("middle segment gone, its .log alone", name, removed(MIDDLE, LOG))
        yield Kind("last segment gone", name, removed(LAST))
    yield Kind("last segment gone, copied alone", v2, alone(removed(LAST)))


def _index_kinds() -> Iterator[Kind]:
    v2 = "v2 none"
    for ending in (INDEX, TIMEINDEX):
        which = f".{ending} of a closed segment"
        yield Kind(f"{which}: a bit", v2, index_byte(MIDDLE, ending, 3, 2))
        yield Kind(f"{which}: half an entry", v2, shortened(MIDDLE, ending, 3))
        yield Kind(f"{which} emptied", v2, emptied(MIDDLE, ending))
        yield Kind(f"{which} gone", v2, removed(MIDDLE, ending))
    for name in (v2, "v1 none"):
        change = shortened(MIDDLE, TIMEINDEX, 12)
        yield Kind("last entry of a closed segment's .timeindex gone", name, change)
    yield Kind("both indexes of a closed segment gone", v2, removed(MIDDLE, INDEX, TIMEINDEX))
    yield Kind("indexes of two segments exchanged", v2, swapped_indexes)
    active, position = "last entry of the active", index_byte(LAST, INDEX, -1)
    yield Kind(f"{active} .index: position, clean stop", v2, position)
    yield Kind(f"{active} .index: position, crash", v2, unclean(position))
    yield Kind(f"{active} .timeindex: 30 years ahead, clean stop", v2, late_time)
    yield Kind(f"{active} .timeindex gone, clean stop", v2, shortened(LAST, TIMEINDEX, 12))


def _transaction_kinds() -> Iterator[Kind]:
    for name, producer in (("transactional", 7), ("compacted", 8)):
        yield Kind("transaction indexes gone", name, lost_entries)
        yield Kind("latest transaction index gone", name, lost_last_entries)
        yield Kind("false entry in a transaction index", name, false_entry(producer))
        yield Kind("producer of an entry: a bit", name, entry_byte(9))
        yield Kind("version of an entry, first byte", name, entry_byte(0))
        yield Kind("version of an entry, second byte", name, entry_byte(1))
        yield Kind("an ABORT marker damaged", name, hurt_marker(0))
        yield Kind("a COMMIT marker damaged", name, hurt_marker(1))
    yield Kind("transaction index out of order", "one segment", swapped_entries)


def _fact_kinds() -> Iterator[Kind]:
    v2 = "v2 none"
    yield Kind("snapshot: a bit", v2, snapshot_bit)
    yield Kind("snapshot: another sequence, right checksum", v2, snapshot_field(13))
    yield Kind("snapshot: another producer epoch, right checksum", v2, snapshot_field(9))
    yield Kind("snapshot: another last offset, right checksum", v2, snapshot_field(21))
    yield Kind("snapshot: another offset delta, right checksum", v2, snapshot_field(25))
    yield Kind("snapshot: a false open transaction", v2, snapshot_field(38, b"\xff" * 8))
    yield Kind("snapshot gone", v2, removed(MIDDLE, SNAPSHOT))
    yield Kind("snapshot beyond the end", v2, snapshot_of_the_future)
    yield Kind("all snapshots gone, clean stop", "open", newest_snapshots_gone(0))
    yield Kind("epoch begins too early", v2, epochs((0, 0), (1, 9), (2, 12)))
    yield Kind("epoch begins too late", v2, epochs((0, 0), (1, 12), (2, 18)))
    yield Kind("epoch begins inside a batch", v2, epochs((0, 0), (1, 8), (2, 18)))
    yield Kind("first epoch begins too late", v2, epochs((0, 3), (1, 9), (2, 18)))
    yield Kind("latest epoch missing", v2, epochs((0, 0), (1, 9)))
    yield Kind("epoch beyond the end", v2, epochs((0, 0), (1, 9), (2, 18), (3, 99)))
    yield Kind("epochs that do not ascend", v2, epochs((0, 0), (2, 9), (1, 18)))
    yield Kind("epoch file is garbage", v2, file(EPOCHS, b"x"))
    yield Kind("partition.metadata is garbage", v2, file("partition.metadata", b"x"))
    yield Kind("partition.metadata without an id", v2, file("partition.metadata", b"version: 0\n"))
    for title, name in (
        ("recovery point", "recovery-point-offset-checkpoint"),
        ("log start", "log-start-offset-checkpoint"),
        ("high watermark", "replication-offset-checkpoint"),
        ("cleaner checkpoint", "cleaner-offset-checkpoint"),
    ):
        yield Kind(f"{title} beyond the end", v2, beside(name, checkpoint(99)))
        yield Kind(f"file of the {title} is garbage", v2, beside(name, b"x"))


def _compacted_kinds() -> Iterator[Kind]:
    name, beyond = "compacted", beside("cleaner-offset-checkpoint", checkpoint(999))
    too_high = "cleaner's checkpoint too high: keys have several records"
    yield Kind("cleaned segment gone", name, segment_gone(0))
    yield Kind("segment gone above the cleaner's checkpoint", name, segment_gone(-3))
    yield Kind(too_high, name, checkpoint_from_elsewhere)
    yield Kind("cleaner's checkpoint beyond the end", name, beyond)


def _stopped(*suffixes: str, change: Change | None = None) -> Change:
    """Return what a stopped cleaner leaves of the first segment, by the suffix of each file."""
    endings = (LOG, INDEX, TIMEINDEX, TXNINDEX)
    each = suffixes if len(suffixes) == len(endings) else suffixes * len(endings)
    return pending(*zip(endings, each, strict=True), change=change)


def _stopped_cleaners() -> Iterator[Kind]:
    name = "compacted"
    wrong = (
        ("bit of a .swap log, its source gone", _bit, ".swap"),
        (".swap log cut between batches, its source gone", _cut, ".swap"),
        (".swap log gone, its source too", _no_bytes, ".swap"),
        ("bit of a .swap log, its source is there", _bit, "+.swap"),
    )
    for title, bytes_of, suffix in wrong:
        yield Kind(title, name, _stopped(suffix, change=first_log(".swap", bytes_of)))
    legal = (
        (".cleaned segment, its source is there", _stopped("+.cleaned")),
        (".swap log with a .cleaned index", _stopped("+.swap", *["+.cleaned"] * 3)),
        (".swap segment, its source is there", _stopped("+.swap")),
        (".swap segment, its source is gone", _stopped(".swap")),
        (".swap indexes of a segment whose log has its name", _stopped("+", *[".swap"] * 3)),
        (".swap time index of a segment", _stopped("+", "+", ".swap", ".swap")),
        (".swap transaction index of a segment", _stopped("+", "+", "+", ".swap")),
        (
            "no cleaner's checkpoint behind a pass",
            beside("cleaner-offset-checkpoint", checkpoint()),
        ),
    )
    yield from (Kind(title, name, change, is_harmless=True) for title, change in legal)


def _bit(data: bytes) -> bytes:
    return data[:70] + bytes((data[70] ^ 4,)) + data[71:]


def _cut(data: bytes) -> bytes:
    return data[: [each.position for each in headers_of(data)][-1]]


def _no_bytes(_: bytes) -> None:
    """Remove the file."""


def _directory_kinds() -> Iterator[Kind]:
    v2, empty = "v2 none", {f"{0:020}.log": b""}
    other = {**empty, "partition.metadata": b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAFw"}
    yield Kind("another partition with another topic id", v2, sibling("t-1", other))
    metadata = {f"{0:020}.log": metadata_batch(topic("t"))}
    another = "another topic id than the metadata of the cluster"
    yield Kind(another, v2, sibling("__cluster_metadata-0", metadata))
    for title, path in (
        ("another partition without a topic id", "t-1"),
        ("a stray directory", f"t-0.{'0' * 32}-stray"),
        ("a directory that is deleted", f"u-0.{'0' * 32}-delete"),
    ):
        yield Kind(title, v2, sibling(path, empty), is_harmless=True)


def _oddities() -> Iterator[Kind]:
    for name in HEALTHY:
        yield Kind("nothing", name, nothing, is_harmless=True)
    v2 = "v2 none"
    harmless = (
        ("first segment gone, as retention leaves it", v2, removed(FIRST)),
        ("log start within a segment", v2, beside("log-start-offset-checkpoint", checkpoint(10))),
        ("torn batch at the end, crash", v2, unclean(cut(LAST, rest=70))),
        ("zeros at the end, crash", v2, unclean(garbage_behind(LAST, bytes(5000)))),
        ("empty active segment", v2, file(f"{END:020}.log", b"")),
        (
            "partition.metadata of a later version",
            v2,
            file("partition.metadata", b"version: 4\ntopic_id: ZGFtYWdlZCB0b3BpYyBpZA"),
        ),
        ("a batch with LogAppendTime", v2, log_append_time),
        ("a batch that a cleaner has emptied", "compacted", emptied_by_a_cleaner),
        ("epoch file gone", v2, gone(EPOCHS)),
        (
            "newest snapshots gone, and a transaction of the oldest has ended below the log start",
            "open",
            newest_snapshots_gone(1, log_start=22),
        ),
        ("epoch without records at the end", v2, epochs((0, 0), (1, 9), (2, 18), (3, 27))),
        ("copied without the log directory's files", v2, alone(nothing)),
        ("only the .log files, copied alone", v2, alone(only_logs)),
        ("leftovers of a deletion", v2, file(f"{0:020}.log.deleted", b"x")),
        ("leftover of a cleaner", v2, file(f"{0:020}.log.cleaned", b"x")),
        ("a file that is not Kafka's", v2, file("notes.txt", b"x")),
        ("indexes with preallocated space, crash", v2, unclean(preallocated)),
    )
    yield from (Kind(*each, is_harmless=True) for each in harmless)
