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

from tests.adversary.random_logs import PARTITION, TOPIC, RandomLog

Files: TypeAlias = dict[str, bytes]


class Directory(NamedTuple):
    """The files of a partition and of its log directory."""

    files: Files
    beside: Files


Change: TypeAlias = Callable[[Directory, RandomLog, random.Random], bool]

_CHECKPOINTS: Final = ("recovery-point", "log-start", "cleaner")
#: Sizes of a snapshot's header and of a producer's entry, and the place of the sequence in it.
_SNAPSHOT_HEADER, _SNAPSHOT_ENTRY, _ENTRY_SEQUENCE = 10, 46, 10
_EPOCHS: Final = "leader-epoch-checkpoint"


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


def _snapshot_gone(directory: Directory, _: RandomLog, chance: random.Random) -> bool:
    names = _names(directory, ".snapshot")
    del directory.files[chance.choice(names)]
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
    "sequence in a snapshot": _sequence,
    "snapshot gone": _snapshot_gone,
    "snapshot beyond the end": _snapshot_ahead,
    "start of an epoch": _epoch,
    "checkpoint beyond the end": _checkpoint,
}


def damage(log: RandomLog, kind: str, seed: int) -> Directory | None:
    """Return a copy of a log's directory with one damage, None if the log has no such file."""
    directory = Directory(dict(log.files), dict(log.beside))
    chance = random.Random(f"{kind} {log.seed} {seed}")
    return directory if KINDS[kind](directory, log, chance) else None
