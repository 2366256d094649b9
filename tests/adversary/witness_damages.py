"""Seeded damage of one file of a random log, for `verify`: each kind contradicts another file.

    change(files, beside, log, chance)   alters the directory; False if the log has no such file

Base offsets of batches in cleaned logs are left alone: no checksum covers them, and a cleaned log
may have any gap, so another base offset is another legal log.
"""

import random
import struct
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

import google_crc32c

from tests.adversary.random_logs import PARTITION, TOPIC, RandomLog, WrittenBatch
from tests.unit.workbench.metadata_samples import metadata_batch, topic

Files: TypeAlias = dict[str, bytes]


class Directory(NamedTuple):
    """The files of a partition and of its log directory; `also` are other partitions, by name."""

    files: Files
    beside: Files
    also: dict[str, Files]


Change: TypeAlias = Callable[[Directory, RandomLog, random.Random], bool]

_CHECKPOINTS: Final = ("recovery-point", "log-start", "cleaner")
#: Sizes of a snapshot's header and of a producer's entry, and the place of the sequence in it.
_SNAPSHOT_HEADER, _SNAPSHOT_ENTRY, _ENTRY_SEQUENCE = 10, 46, 10
_EPOCHS: Final = "leader-epoch-checkpoint"
_METADATA: Final = "partition.metadata"
#: Places of fields in a v2 batch.
_CRC_AT, _ATTRIBUTES_AT, _MAX_TIMESTAMP_AT = 17, 21, 35
_LOG_APPEND_TIME: Final = 0x08


def _names(directory: Directory, ending: str) -> list[str]:
    return sorted(name for name in directory.files if name.endswith(ending))


def _flip(directory: Directory, name: str, at: int, mask: int) -> bool:
    data = bytearray(directory.files[name])
    data[at] ^= mask
    directory.files[name] = bytes(data)
    return True


def _log_bit(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    batch = chance.choice(log.batches)
    at = batch.position + chance.randrange(8 if log.cleaned_to else 0, batch.size)
    return _flip(directory, batch.file, at, 1 << chance.randrange(8))


def _log_cut(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    name = chance.choice(_names(directory, ".log"))
    if not directory.files[name]:
        return False
    directory.files[name] = directory.files[name][: chance.randrange(len(directory.files[name]))]
    return True


def _last_batch(directory: Directory, log: RandomLog, _: random.Random) -> bool:
    batch = log.batches[-1]
    directory.files[batch.file] = directory.files[batch.file][: batch.position]
    return True


def _middle_segment(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    names = [name for name in _names(directory, ".log")[1:-1] if directory.files[name]]
    if not names:
        return False
    gone = chance.choice(names)[:20]
    for name in [name for name in directory.files if name.startswith(gone)]:
        del directory.files[name]
    return True


def _last_segment(directory: Directory, log: RandomLog, _: random.Random) -> bool:
    *others, gone = _names(directory, ".log")
    if not others:
        return False
    for name in [name for name in directory.files if name.startswith(gone[:20])]:
        del directory.files[name]
    return True


def _index_bit(ending: str) -> Change:
    def change(directory: Directory, _: RandomLog, chance: random.Random) -> bool:
        names = [name for name in _names(directory, ending) if directory.files[name]]
        if not names:
            return False
        name = chance.choice(names)
        at = chance.randrange(len(directory.files[name]))
        return _flip(directory, name, at, 1 << chance.randrange(8))

    return change


def _last_entry(ending: str, size: int) -> Change:
    def change(directory: Directory, _: RandomLog, chance: random.Random) -> bool:
        names = [name for name in _names(directory, ending) if directory.files[name]]
        if not names:
            return False
        name = chance.choice(names)
        directory.files[name] = directory.files[name][:-size]
        return True

    return change


def _no_aborts(directory: Directory, _: RandomLog, chance: random.Random) -> bool:
    names = _names(directory, ".txnindex")
    if names:
        del directory.files[chance.choice(names)]
    return bool(names)


def _false_abort(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    """Add an entry that makes readers skip committed records."""
    markers = [each for each in log.batches if each.kind == "commit"]
    if not markers:
        return False
    marker = chance.choice(markers)
    name = f"{marker.file[:20]}.txnindex"
    entry = struct.pack(
        ">hqqqq", 0, marker.producer_id, max(0, marker.base_offset - 5), marker.base_offset,
        marker.base_offset + 1,
    )  # fmt: skip
    old: bytes = directory.files.get(name, b"")
    entries = [entry, *(old[at : at + 34] for at in range(0, len(old), 34))]
    ordered: list[bytes] = sorted(entries, key=_marker_of)
    directory.files[name] = b"".join(ordered)
    return True


def _marker_of(entry: bytes) -> bytes:
    return entry[18:26]


def _exchanged_aborts(directory: Directory, _: RandomLog, chance: random.Random) -> bool:
    """Exchange two entries of a transaction index, which are next to each other."""
    names = [name for name in _names(directory, ".txnindex") if len(directory.files[name]) >= 68]
    if not names:
        return False
    name = chance.choice(names)
    data = directory.files[name]
    at = 34 * chance.randrange(len(data) // 34 - 1)
    exchanged = data[at + 34 : at + 68] + data[at : at + 34]
    directory.files[name] = data[:at] + exchanged + data[at + 68 :]
    return True


def _snapshot_gone(directory: Directory, _: RandomLog, chance: random.Random) -> bool:
    names = _names(directory, ".snapshot")
    del directory.files[chance.choice(names)]
    return True


def _newest_snapshots(directory: Directory, _: RandomLog, chance: random.Random) -> bool:
    """Remove the newest snapshots, or all of them."""
    names = _names(directory, ".snapshot")
    for name in names[chance.randrange(len(names)) :]:
        del directory.files[name]
    return True


def _snapshot_ahead(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    name = _names(directory, ".snapshot")[-1]
    directory.files[f"{log.end + chance.randint(1, 90):020}.snapshot"] = directory.files[name]
    return True


def _last_batch_of(snapshot: bytes, at: int) -> tuple[int, int]:
    """Return the producer of an entry, and the last offset of its data."""
    producer_id, _, _, offset = struct.unpack_from(">qhiq", snapshot, at)
    return producer_id, offset


def _sequence(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    """Alter the sequence of a producer's last batch in a snapshot, with the right checksum."""
    left = {(each.producer_id, each.last_offset) for each in log.batches if each.kind == "data"}
    places = [
        (name, at + _ENTRY_SEQUENCE)
        for name in _names(directory, ".snapshot")
        for at in range(_SNAPSHOT_HEADER, len(directory.files[name]), _SNAPSHOT_ENTRY)
        if _last_batch_of(directory.files[name], at) in left
    ]
    if not places:
        return False
    name, at = chance.choice(places)
    data = bytearray(directory.files[name])
    data[at + 3] ^= 1 << chance.randrange(8)
    struct.pack_into(">I", data, 2, google_crc32c.value(bytes(data[6:])))
    directory.files[name] = bytes(data)
    return True


def _epoch(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    """Let an epoch begin elsewhere."""
    lines = directory.files[_EPOCHS].decode().splitlines()
    if len(lines) < 4:
        return False
    at = chance.randrange(3, len(lines))
    epoch, start = map(int, lines[at].split())
    lines[at] = f"{epoch} {max(0, start + chance.choice((-4, -1, 1, 4)))}"
    directory.files[_EPOCHS] = "".join(f"{line}\n" for line in lines).encode()
    return True


def _checkpoint(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    """Let a checkpoint be beyond the end of the log."""
    name = f"{chance.choice(_CHECKPOINTS)}-offset-checkpoint"
    offset = log.end + chance.randint(1, 1000)
    directory.beside[name] = f"0\n1\n{TOPIC} {PARTITION} {offset}\n".encode()
    return True


def _v2_batch(log: RandomLog, chance: random.Random) -> WrittenBatch | None:
    """Return a v2 batch with records: a cleaner may have emptied others."""
    full = {each.batch for each in log.records}
    found = [
        each
        for number, each in enumerate(log.batches)
        if each.magic == 2 and each.kind == "data" and number in full
    ]
    return chance.choice(found) if found else None


def _rewritten(directory: Directory, batch: WrittenBatch, at: int, field: bytes) -> None:
    """Write a field of a v2 batch, and its checksum."""
    data = bytearray(directory.files[batch.file])
    data[batch.position + at : batch.position + at + len(field)] = field
    checked = bytes(data[batch.position + _ATTRIBUTES_AT : batch.end])
    struct.pack_into(">I", data, batch.position + _CRC_AT, google_crc32c.value(checked))
    directory.files[batch.file] = bytes(data)


def _max_timestamp(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    """Let a batch have another max timestamp than its records, with a right checksum."""
    batch = _v2_batch(log, chance)
    if batch is not None:
        data, at = directory.files[batch.file], batch.position + _MAX_TIMESTAMP_AT
        (time,) = struct.unpack_from(">q", data, at)
        by = chance.choice((-86_400_000, -3, -1, 1, 2, 3_600_000))
        _rewritten(directory, batch, _MAX_TIMESTAMP_AT, struct.pack(">q", time + by))
    return batch is not None


_SIBLING: Final = f"{TOPIC}-{PARTITION + 1}"
_EMPTY_LOG: Final = {f"{0:020}.log": b""}


def _topic_id(directory: Directory, _: RandomLog, chance: random.Random) -> bool:
    """Let two partitions of the topic have different ids, by a bit of the id in one of them."""
    sibling = {**_EMPTY_LOG, _METADATA: directory.files[_METADATA]}
    directory.also[_SIBLING] = sibling
    one = chance.choice((directory.files, sibling))
    data = one[_METADATA]
    at = data.index(b"topic_id: ") + len("topic_id: ") + chance.randrange(22)
    one[_METADATA] = data[:at] + bytes((data[at] ^ 1 << chance.randrange(5),)) + data[at + 1 :]
    return True


def _topic_id_of_metadata(directory: Directory, _: RandomLog, chance: random.Random) -> bool:
    """Let the metadata of the cluster have another id for the topic."""
    log = {f"{0:020}.log": metadata_batch(topic(TOPIC, chance.randbytes(16)))}
    directory.also["__cluster_metadata-0"] = log
    return True


#: The kinds of damage by name.
KINDS: Final[dict[str, Change]] = {
    "bit of a log": _log_bit,
    "log cut": _log_cut,
    "last batch gone": _last_batch,
    "middle segment gone": _middle_segment,
    "last segment gone": _last_segment,
    "bit of an offset index": _index_bit(".index"),
    "bit of a time index": _index_bit(".timeindex"),
    "bit of a transaction index": _index_bit(".txnindex"),
    "bit of a snapshot": _index_bit(".snapshot"),
    "last entry of an offset index gone": _last_entry(".index", 8),
    "last entry of a time index gone": _last_entry(".timeindex", 12),
    "last entry of a transaction index gone": _last_entry(".txnindex", 34),
    "transaction index gone": _no_aborts,
    "committed transaction in an index": _false_abort,
    "entries of a transaction index exchanged": _exchanged_aborts,
    "sequence in a snapshot": _sequence,
    "snapshot gone": _snapshot_gone,
    "newest snapshots gone": _newest_snapshots,
    "snapshot beyond the end": _snapshot_ahead,
    "start of an epoch": _epoch,
    "checkpoint beyond the end": _checkpoint,
    "max timestamp of a batch": _max_timestamp,
    "topic id of a partition": _topic_id,
    "topic id of the metadata": _topic_id_of_metadata,
}


# -- legal changes


def _log_append_time(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    """Let the records of a batch have its max timestamp."""
    batch = _v2_batch(log, chance)
    if batch is not None:
        at = batch.position + _ATTRIBUTES_AT + 1
        flags = directory.files[batch.file][at] | _LOG_APPEND_TIME
        _rewritten(directory, batch, _ATTRIBUTES_AT + 1, bytes((flags,)))
    return batch is not None


def _crash(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    """Let the broker crash: the active segment may end anywhere, and has no snapshot at its end."""
    del directory.beside[".kafka_cleanshutdown"]
    name = _names(directory, ".log")[-1]
    base, data = int(name[:20]), directory.files[name]
    offsets = {"recovery-point": base, "replication": base}
    for checkpoint, offset in offsets.items():
        text = f"0\n1\n{TOPIC} {PARTITION} {offset}\n"
        directory.beside[f"{checkpoint}-offset-checkpoint"] = text.encode()
    if log.start > base or log.cleaned_to > base:
        return False
    del directory.files[f"{log.end:020}.snapshot"]
    directory.files[name] = data[: chance.randrange(len(data) + 1)]
    return True


def _sibling(name: str, metadata: bytes | None) -> Change:
    def change(directory: Directory, _: RandomLog, __: random.Random) -> bool:
        own = {} if metadata is None else {_METADATA: metadata or directory.files[_METADATA]}
        directory.also[name] = {**_EMPTY_LOG, **own}
        return True

    return change


def _leftovers(directory: Directory, log: RandomLog, chance: random.Random) -> bool:
    """Add files of earlier segments that are deleted, and a .cleaned file without its sources."""
    base = int(_names(directory, ".log")[0][:20])
    for ending in ("log", "index", "timeindex", "snapshot"):
        directory.files[f"{max(base - 7, 0):020}.{ending}.deleted"] = chance.randbytes(40)
    directory.files[f"{base:020}.log.cleaned"] = chance.randbytes(chance.randrange(90))
    return True


#: Changes that leave a legal directory.
LEGAL: Final[dict[str, Change]] = {
    "nothing": lambda *_: True,
    "batch with LogAppendTime": _log_append_time,
    "crash": _crash,
    "partition with the same topic id": _sibling(_SIBLING, b""),
    "partition without a topic id": _sibling(_SIBLING, None),
    "partition of another topic": _sibling(
        "other-0", b"version: 0\ntopic_id: BBBBBBBBBBBBBBBBBBBBFw"
    ),
    "leftovers of deletion and cleaning": _leftovers,
}


def directory_of(log: RandomLog) -> Directory:
    """Return a copy of a log's directory."""
    return Directory(dict(log.files), dict(log.beside), {})


def damage(log: RandomLog, kind: str, seed: int) -> Directory | None:
    """Return a copy of a log's directory with one damage, None if the log has no such file."""
    directory = directory_of(log)
    chance = random.Random(f"{kind} {log.seed} {seed}")
    return directory if (KINDS | LEGAL)[kind](directory, log, chance) else None
