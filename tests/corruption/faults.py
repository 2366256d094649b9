"""Seeded faults of a directory, and the bytes of each file that they change.

    bit_flip           a few bits of a log file, in one batch or in several
    torn_tail          a log file ends in the middle of a batch
    zeroed_page        a page of a log file reads as zeros
    swapped_blocks     two blocks of a log file are exchanged
    truncated_index    an index file is shorter, and ends within an entry
    lying_index        the entries of an index point to wrong positions
    duplicated_segment a log file exists twice, under two names
    lost_segment       the files of a segment in the middle are missing
    lost_aborts        the transaction index of a segment is missing
    wrong_name         a log file has the name of another offset, or an invalid one
    bad_snapshot       a producer snapshot is damaged
    bad_checkpoint     a checkpoint or the metadata are damaged
    outside_checksums  base offset, size, leader epoch or magic of a batch: no checksum covers them

The seed decides the place of a fault.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.corruption.healthy import HealthyLog

ENTRY_SIZES = {"index": 8, "timeindex": 12, "txnindex": 34}


class Touched(NamedTuple):
    """A range of changed bytes, in the original file."""

    file: str
    start: int
    end: int


@dataclass
class HurtLog:
    """A damaged directory, and its fault."""

    files: dict[str, bytes]
    beside: dict[str, bytes]
    kind: str
    touched: list[Touched] = field(default_factory=list)
    words: str = ""

    def overwrite(self, name: str, at: int, data: bytes) -> None:
        """Overwrite bytes, and record the changed ones."""
        old = self.files[name]
        self.files[name] = old[:at] + data + old[at + len(data) :]
        self.touched += [
            Touched(name, at + index, at + index + 1)
            for index, (was, now) in enumerate(zip(old[at:], data, strict=False))
            if was != now
        ]


def hurt(log: HealthyLog, kind: str, seed: int) -> HurtLog:
    """Return a copy of a directory with one fault; the kind "nothing" leaves it undamaged."""
    out = HurtLog(dict(log.files), dict(log.beside), kind)
    if kind in KINDS:
        KINDS[kind](log, out, random.Random(f"{kind} {seed}"))
    return out


def _bit_flip(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    name = chance.choice(log.logs())
    for _ in range(chance.choice((1, 1, 2, 5))):
        at = chance.randrange(len(out.files[name]))
        out.overwrite(name, at, bytes((out.files[name][at] ^ 1 << chance.randrange(8),)))


def _torn_tail(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    name = chance.choice((log.logs()[-1], chance.choice(log.logs())))
    size = len(out.files[name])
    kept = chance.randrange(size)
    out.files[name] = out.files[name][:kept]
    out.touched.append(Touched(name, kept, size))


def _zeroed_page(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    name = chance.choice(log.logs())
    size = chance.choice((512, 4096))
    at = chance.randrange(0, len(out.files[name]), size)
    out.overwrite(name, at, bytes(min(size, len(out.files[name]) - at)))


def _swapped_blocks(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    name = chance.choice(log.logs())
    size = chance.choice((64, 512))
    data = out.files[name]
    first, second = sorted(chance.sample(range(len(data) // size), 2))
    one = data[first * size : (first + 1) * size]
    other = data[second * size : (second + 1) * size]
    out.overwrite(name, first * size, other)
    out.overwrite(name, second * size, one)


def _index(log: HealthyLog, chance: random.Random) -> str:
    return chance.choice(
        sorted(name for name in log.files if name.endswith("index") and log.files[name])
    )


def _truncated_index(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    name = _index(log, chance)
    entry_size = ENTRY_SIZES[name.partition(".")[2]]
    kept = chance.randrange(0, len(out.files[name]), entry_size) + chance.randrange(1, entry_size)
    out.files[name] = out.files[name][:kept]


def _lying_index(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    name = _index(log, chance)
    at = chance.randrange(len(out.files[name]))
    out.overwrite(name, at, bytes((out.files[name][at] ^ chance.randrange(1, 256),)))


def _duplicated_segment(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    name = chance.choice(log.logs())
    other = f"{log.end + chance.choice((0, 1, 500)):020}.log"
    out.files[chance.choice((other, f"{name}.swap", "copy.log"))] = out.files[name]


def _lost_segment(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    name = chance.choice(log.logs()[1:-1])
    out.touched.append(Touched(name, 0, len(out.files[name])))
    for each in [each for each in out.files if each.startswith(name[:20])]:
        del out.files[each]


def _lost_aborts(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    del out.files[chance.choice(sorted(name for name in log.files if name.endswith(".txnindex")))]


def _wrong_name(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    name = chance.choice(log.logs())
    stem = int(name[:20])
    other = chance.choice((f"{stem + 1:020}.log", f"{stem:019}.log", f"{log.end + 9:020}.log"))
    out.files[other] = out.files.pop(name)


def _bad_snapshot(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    name = chance.choice(sorted(name for name in log.files if name.endswith(".snapshot")))
    at = chance.randrange(len(out.files[name]))
    out.overwrite(name, at, bytes((out.files[name][at] ^ chance.randrange(1, 256),)))


def _bad_checkpoint(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    bad = chance.choice((b"x", b"0\n9\na 1 2\n", b"7\n0\n", b"\0" * 40))
    beside = sorted(log.beside.keys() - {".kafka_cleanshutdown"})  # of that no byte counts
    name = chance.choice(("leader-epoch-checkpoint", *beside))
    (out.files if name in out.files else out.beside)[name] = bad


def _outside_checksums(log: HealthyLog, out: HurtLog, chance: random.Random) -> None:
    batch = chance.choice(log.batches)
    at = batch.position + chance.choice((*range(8), *range(8, 12), *range(12, 16), 16))
    byte = out.files[batch.file][at] ^ 1 << chance.randrange(8)
    out.overwrite(batch.file, at, bytes((byte,)))


KINDS: dict[str, Callable[[HealthyLog, HurtLog, random.Random], None]] = {
    "bit_flip": _bit_flip,
    "torn_tail": _torn_tail,
    "zeroed_page": _zeroed_page,
    "swapped_blocks": _swapped_blocks,
    "truncated_index": _truncated_index,
    "lying_index": _lying_index,
    "duplicated_segment": _duplicated_segment,
    "lost_segment": _lost_segment,
    "lost_aborts": _lost_aborts,
    "wrong_name": _wrong_name,
    "bad_snapshot": _bad_snapshot,
    "bad_checkpoint": _bad_checkpoint,
    "outside_checksums": _outside_checksums,
}
