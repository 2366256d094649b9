"""Logs to compact, on disk: all formats, codecs and kinds of batches."""

import os
from pathlib import Path
from random import Random

from cordwood.core.system import SystemFiles
from cordwood.records.batch_builder import BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.storage.checkpoints.clean_shutdown_file import write_clean_shutdown
from tests.unit.compaction.cleaned_log import CleanedLog
from tests.unit.compaction.compaction_samples import NOW, batch, old
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.storage.log_samples import NOW as BEGINNING

#: Topic settings of the logs.
CONFIG = {"cleanup.policy": "compact", "segment.index.bytes": "1200", "index.interval.bytes": "0"}
TRANSACTIONAL = (3, 4)
BATCHES = 60


def build_log(path: Path, seed: int) -> None:
    """Write a partition directory with many small segments."""
    chance, cleaned = Random(seed), CleanedLog()
    for _ in range(BATCHES):
        _put(cleaned, chance)
        if chance.random() < 0.06:
            cleaned.log.roll()
    cleaned.log.roll()
    cleaned.log.close()
    path.mkdir(parents=True)
    for name in cleaned.place.files.list(DIRECTORY):
        (path / name).write_bytes(cleaned.place.bytes_of(name))
        os.utime(path / name, (BEGINNING // 1000, BEGINNING // 1000))


def build_logs(world: Path) -> None:
    """Write four partitions into a log directory after a clean shutdown."""
    for number in range(4):
        build_log(world / f"t-{number}", seed=number)
    write_clean_shutdown(SystemFiles(), str(world), broker_epoch=1)
    (world / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 20\n")


def contents(world: Path) -> dict[str, tuple[bytes, int]]:
    """Return all files of a log directory except locks, with modification times of segments."""
    return {
        str(path.relative_to(world)): (
            path.read_bytes(),
            path.stat().st_mtime_ns if path.suffix == ".log" else 0,
        )
        for path in sorted(world.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }


def records_left(world: Path) -> dict[str, list[tuple[int, bytes | None, bytes | None]]]:
    """Return offset, key and value of the records of each log, by name."""
    return {
        log.name: [
            (record.offset, record.key, record.value)
            for segment in sorted(log.glob("*.log"))
            for each in batches(segment.read_bytes())
            if not each.is_control
            for record in each.records()
        ]
        for log in sorted(world.glob("t-*"))
    }


def _put(cleaned: CleanedLog, chance: Random) -> None:
    """Append a batch of any kind."""
    text, kind = _words(chance), chance.random()
    if kind < 0.2:
        cleaned.send(text, producer=chance.choice((1, 2)), is_transactional=False)
    elif kind < 0.5:
        producer = chance.choice(TRANSACTIONAL)
        cleaned.send(text, producer=producer)
        cleaned.end(producer, is_commit=chance.random() < 0.6)
    elif kind < 0.6:
        end = cleaned.log.bounds.log_end
        cleaned.follow(old(end, text, magic=chance.choice((0, 1)), codec=Codec.GZIP))
    else:
        codec = chance.choice(list(Codec))
        cleaned.put(batch(0, text, fields=BatchFields(codec=codec), time=NOW - 5000))


def _words(chance: Random) -> str:
    words = (chance.choice("abcdefghijklmnop-") + chance.choice("123-") for _ in range(5))
    return " ".join(words)
