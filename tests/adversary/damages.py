"""Seeded damage of a random log, and the bytes that it changes.

    damaged(log, seed)    a copy of the directory with one to three kinds of damage
    out.files             the partition's directory; `out.beside` is the log directory
    out.kinds             the kinds of damage, words of `DAMAGES`
    out.touched           the changed bytes, in the original files
    out.is_led(batch)     whether the sizes in the damaged file still lead to a batch

Some kinds need a file that not every log has; then another kind is drawn. A kind that moves the
bytes behind it is alone.
"""

import random
import struct
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from tests.adversary.random_logs import RandomLog, WrittenBatch

_MOST: Final = 3
#: The share of directories that have lost the files next to them, in addition to other damage.
_ALONE: Final = 0.1
LOST_CHECKPOINTS: Final = "lost checkpoints"
LOST_TAIL: Final = "cleaned segment without its indexed tail"
LOST_MARKERS: Final = "lost cleaned segment with a marker"


class TouchedBytes(NamedTuple):
    """Changed or missing bytes of an original file."""

    file: str
    start: int
    end: int


@dataclass
class DamagedLog:
    """A damaged directory, the kinds of its damage, and the changed bytes."""

    source: RandomLog
    files: dict[str, bytes]
    beside: dict[str, bytes]
    kinds: list[str] = field(default_factory=list)
    touched: list[TouchedBytes] = field(default_factory=list)

    def overwrite(self, name: str, at: int, data: bytes) -> None:
        """Overwrite bytes, and record the changed ones."""
        old = self.files[name]
        self.files[name] = old[:at] + data + old[at + len(data) :]
        self.touched += [
            TouchedBytes(name, at + index, at + index + 1)
            for index, (was, now) in enumerate(zip(old[at:], data, strict=False))
            if was != now
        ]

    def remove(self, name: str) -> None:
        """Remove a file; all of its bytes are touched."""
        self.touched.append(TouchedBytes(name, 0, len(self.files.pop(name))))

    def remove_segment(self, stem: str) -> None:
        """Remove all files of a segment."""
        for name in [each for each in self.files if each.startswith(stem)]:
            self.remove(name)

    def is_touched(self, file: str, start: int, end: int) -> bool:
        """Return whether a byte of a range has changed."""
        return any(
            each.file == file and each.start < end and start < each.end for each in self.touched
        )

    def is_led(self, batch: WrittenBatch) -> bool:
        """Return whether the sizes of all batches before a batch in its file are unchanged."""
        return not any(
            each.file == batch.file
            and each.position < batch.position
            and self.is_touched(each.file, each.position + 8, each.position + 12)
            for each in self.source.batches
        ) and not (SHIFTING & set(self.kinds) and self.is_touched(batch.file, 0, batch.position))


Damage = Callable[[DamagedLog, random.Random], bool]


def damaged(log: RandomLog, seed: int, *, kinds: tuple[str, ...] = ()) -> DamagedLog:
    """Return a copy of a log's directory with the given kinds of damage, or with random ones."""
    chance = random.Random(f"damage {log.seed} {seed}")
    out = DamagedLog(log, dict(log.files), dict(log.beside))
    wanted = list(kinds) or [
        chance.choice(sorted(DAMAGES)) for _ in range(chance.randint(1, _MOST))
    ]
    if not kinds and SHIFTING & set(wanted):
        wanted = [min(SHIFTING & set(wanted))]
    if not kinds and random.Random(f"alone {log.seed} {seed}").random() < _ALONE:
        wanted.append(LOST_CHECKPOINTS)
    for kind in wanted:
        if (DAMAGES | _APART)[kind](out, chance):
            out.kinds.append(kind)
    return out


# -- log files


def _log(out: DamagedLog, chance: random.Random) -> str:
    return chance.choice([name for name in out.source.logs() if out.files.get(name)] or [""])


def _flip(out: DamagedLog, chance: random.Random) -> bool:
    name = _log(out, chance)
    for _ in range(chance.choice((1, 1, 2, 5)) if name else 0):
        at = chance.randrange(len(out.files[name]))
        out.overwrite(name, at, bytes((out.files[name][at] ^ 1 << chance.randrange(8),)))
    return bool(name)


def _burst(out: DamagedLog, chance: random.Random) -> bool:
    name = _log(out, chance)
    if name:
        at = chance.randrange(len(out.files[name]))
        size = min(chance.randint(2, 150), len(out.files[name]) - at)
        fill = chance.choice((None, 0, 1, 255))
        out.overwrite(name, at, chance.randbytes(size) if fill is None else bytes([fill]) * size)
    return bool(name)


def _torn(out: DamagedLog, chance: random.Random) -> bool:
    name = _log(out, chance)
    if name:
        size = len(out.files[name])
        kept = chance.randrange(size)
        out.files[name] = out.files[name][:kept]
        out.touched.append(TouchedBytes(name, kept, size))
    return bool(name)


def _zeroed(out: DamagedLog, chance: random.Random) -> bool:
    name = _log(out, chance)
    if name:
        at = chance.randrange(0, len(out.files[name]), 512)
        out.overwrite(name, at, bytes(min(512, len(out.files[name]) - at)))
    return bool(name)


def _swapped(out: DamagedLog, chance: random.Random) -> bool:
    name = _log(out, chance)
    data = out.files[name] if name else b""
    if len(data) < 128:
        return False
    first, second = sorted(chance.sample(range(len(data) // 64), 2))
    one, other = (data[each * 64 : each * 64 + 64] for each in (first, second))
    out.overwrite(name, first * 64, other)
    out.overwrite(name, second * 64, one)
    return True


def _batch(out: DamagedLog, chance: random.Random, *kinds: str) -> WrittenBatch | None:
    found = [
        each
        for each in out.source.batches
        if (not kinds or each.kind in kinds) and len(out.files.get(each.file, b"")) >= each.end
    ]
    return chance.choice(found) if found else None


def _marker(out: DamagedLog, chance: random.Random) -> bool:
    batch = _batch(out, chance, "commit", "abort")
    if batch is not None:
        at = batch.position + chance.randrange(17, batch.size - 12)
        out.overwrite(batch.file, at, chance.randbytes(12))
    return batch is not None


def _header(out: DamagedLog, chance: random.Random) -> bool:
    batch = _batch(out, chance)
    if batch is not None:
        fill = chance.choice((bytes(26), chance.randbytes(26), b"\1" * 26))
        out.overwrite(batch.file, batch.position, fill)
    return batch is not None


def _size(out: DamagedLog, chance: random.Random) -> bool:
    batch = _batch(out, chance)
    if batch is not None:
        size = chance.choice((0, 1, 14, 70, batch.size + 40, 1 << 24, (1 << 31) - 1))
        out.overwrite(batch.file, batch.position + 8, struct.pack(">i", size))
        if chance.random() < 0.7 and batch.size > 80:
            at = batch.position + chance.randrange(61, batch.size - 4)
            out.overwrite(batch.file, at, chance.randbytes(3))
    return batch is not None


def _outside(out: DamagedLog, chance: random.Random) -> bool:
    batch = _batch(out, chance)
    if batch is not None:
        at = batch.position + chance.randrange(17)
        flipped = out.files[batch.file][at] ^ 1 << chance.randrange(8)
        out.overwrite(batch.file, at, bytes((flipped,)))
    return batch is not None


def _cut_out(out: DamagedLog, chance: random.Random) -> bool:
    name = _log(out, chance)
    if name:
        data = out.files[name]
        at = chance.randrange(len(data))
        end = min(at + chance.randint(1, 90), len(data))
        out.files[name] = data[:at] + data[end:]
        out.touched.append(TouchedBytes(name, at, end))
    return bool(name)


def _inserted(out: DamagedLog, chance: random.Random) -> bool:
    name = _log(out, chance)
    if name:
        data = out.files[name]
        at = chance.randrange(1, len(data))
        out.files[name] = data[:at] + chance.randbytes(chance.randint(1, 90)) + data[at:]
        out.touched.append(TouchedBytes(name, at - 1, at + 1))
    return bool(name)


# -- names of files


def _lost_segment(out: DamagedLog, chance: random.Random) -> bool:
    if len([name for name in out.files if name.endswith(".log")]) < 2:
        return False
    stem = _log(out, chance)[:20]
    if stem:
        out.remove_segment(stem)
    return bool(stem)


def _lost_marker_segment(out: DamagedLog, chance: random.Random) -> bool:
    """Remove a segment between others that a cleaner has worked on, and that has a marker."""
    stems = {
        each.file[:20]
        for each in out.source.batches
        if each.kind != "data" and each.last_offset < out.source.cleaned_to
    }
    stems &= {name[:20] for name in out.source.logs()[1:-1]}
    if stems:
        out.remove_segment(chance.choice(sorted(stems)))
    return bool(stems)


def _lost_tail(out: DamagedLog, chance: random.Random) -> bool:
    """Cut a segment that a cleaner has worked on between batches, before one in an index."""
    found = [
        each
        for each in out.source.batches
        if each.last_offset < out.source.cleaned_to and each.position and _is_indexed(out, each)
    ]
    if found:
        batch = chance.choice(found)
        size = len(out.files[batch.file])
        out.files[batch.file] = out.files[batch.file][: batch.position]
        out.touched.append(TouchedBytes(batch.file, batch.position, size))
    return bool(found)


def _is_indexed(out: DamagedLog, batch: WrittenBatch) -> bool:
    """Return whether an offset index has an entry for a batch, or one behind it."""
    index = out.files.get(batch.file.replace(".log", ".index"), b"")
    last = struct.unpack(">ii", index[-8:])[1] if index else -1
    return last >= batch.position


def _lost_log(out: DamagedLog, chance: random.Random) -> bool:
    name = _log(out, chance)
    if not name or len([each for each in out.files if each.endswith(".log")]) < 2:
        return False
    out.remove(name)
    return True


def _duplicated(out: DamagedLog, chance: random.Random) -> bool:
    name = _log(out, chance)
    other = f"{out.source.end + chance.choice((0, 1, 500)):020}.log"
    out.files[chance.choice((other, f"{name}.swap", "copy.log"))] = out.files.get(name, b"")
    return bool(name)


def _replica(out: DamagedLog, chance: random.Random) -> bool:
    """Put a log file of another replica into the directory, under another name."""
    replica = out.source.replica(chance.randrange(9))
    name = chance.choice(replica.logs())
    out.files["replica.log"] = replica.files[name]
    return True


# -- files next to the log


def _named(out: DamagedLog, chance: random.Random, *ends: str) -> str:
    found = sorted(name for name in out.files if name.endswith(ends) and out.files[name])
    return chance.choice(found) if found else ""


def _removed(*ends: str) -> Damage:
    def damage(out: DamagedLog, chance: random.Random) -> bool:
        name = _named(out, chance, *ends)
        if name:
            out.remove(name)
        return bool(name)

    return damage


def _altered(*ends: str) -> Damage:
    def damage(out: DamagedLog, chance: random.Random) -> bool:
        name = _named(out, chance, *ends)
        if name:
            at = chance.randrange(len(out.files[name]))
            byte = out.files[name][at] ^ chance.randrange(1, 256)
            out.overwrite(name, at, bytes((byte,)))
        return bool(name)

    return damage


def _cut_index(out: DamagedLog, chance: random.Random) -> bool:
    name = _named(out, chance, "index")
    if name:
        out.files[name] = out.files[name][: chance.randrange(len(out.files[name]))]
    return bool(name)


def _cut_aborts(out: DamagedLog, chance: random.Random) -> bool:
    """Cut whole entries off a transaction index."""
    name = _named(out, chance, ".txnindex")
    # Another damage may have left less than an entry.
    entries = len(out.files[name]) // 34 if name else 0
    if entries:
        out.files[name] = out.files[name][: 34 * chance.randrange(entries)]
    return bool(entries)


def _false_abort(out: DamagedLog, chance: random.Random) -> bool:
    """Append an entry for a commit marker or for data to a transaction index."""
    batch = _batch(out, chance, "commit", "data")
    if batch is None or batch.producer_id < 0 or batch.file not in out.files:
        return False
    if out.is_touched(batch.file, batch.position, batch.end):
        return False
    name = batch.file.replace(".log", ".txnindex")
    first = max(batch.base_offset - chance.randint(0, 4), 0)
    entry = struct.pack(
        ">hqqqq", 0, batch.producer_id, first, batch.last_offset, batch.last_offset + 1
    )
    out.files[name] = out.files.get(name, b"") + entry
    return True


def _bad_checkpoint(out: DamagedLog, chance: random.Random) -> bool:
    bad = chance.choice((b"x", b"0\n9\na 1 2\n", b"7\n0\n", bytes(40), b""))
    names = sorted({"leader-epoch-checkpoint", *out.beside} - {".kafka_cleanshutdown"})
    name = chance.choice(names)
    (out.files if name in out.files else out.beside)[name] = bad
    return True


def _lost_checkpoints(out: DamagedLog, _: random.Random) -> bool:
    """Leave the directory of the partition alone, as in a copy of it."""
    was = bool(out.beside)
    out.beside.clear()
    return was


#: Kinds that move the bytes behind them.
SHIFTING: Final = frozenset({"bytes cut out", "bytes inserted"})

DAMAGES: Final[dict[str, Damage]] = {
    "flipped bits": _flip,
    "burst": _burst,
    "torn file": _torn,
    "zeroed page": _zeroed,
    "swapped blocks": _swapped,
    "marker": _marker,
    "header": _header,
    "size": _size,
    "outside of checksums": _outside,
    "bytes cut out": _cut_out,
    "bytes inserted": _inserted,
    "lost segment": _lost_segment,
    "lost log file": _lost_log,
    "duplicated segment": _duplicated,
    "segment of a replica": _replica,
    "lost transaction index": _removed(".txnindex"),
    "cut transaction index": _cut_aborts,
    "false abort": _false_abort,
    "altered transaction index": _altered(".txnindex"),
    "lost index": _removed(".index", ".timeindex"),
    "cut index": _cut_index,
    "altered index": _altered(".index", ".timeindex"),
    "lost snapshot": _removed(".snapshot"),
    "altered snapshot": _altered(".snapshot"),
    "lost epochs": _removed("leader-epoch-checkpoint"),
    "bad checkpoint": _bad_checkpoint,
}
#: Kinds that are not drawn like the others: one in addition to them, others if chosen.
_APART: Final[dict[str, Damage]] = {
    LOST_CHECKPOINTS: _lost_checkpoints,
    LOST_MARKERS: _lost_marker_segment,
    LOST_TAIL: _lost_tail,
}
