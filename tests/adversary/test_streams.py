"""Random logs read as streams: each record once, in batches of random size, some of them repeated.

A repeated batch is planned by a query of its own, as after a restart, from its two offsets alone.
"""

import os
import random
from pathlib import Path

import pytest

from cordwood.core.system import SystemFiles
from cordwood.spark.source.split_reader import read_splits
from cordwood.spark.stream.admission import AdmissionLimits
from cordwood.spark.stream.stream_offset import INITIAL, JsonObject
from cordwood.spark.stream.stream_options import StreamOptions, parse_stream_options
from cordwood.spark.stream.stream_query import StreamQuery
from cordwood.testing.virtual_clock import VirtualClock
from tests.adversary.random_logs import NAME, RandomLog, random_log

SOAK = os.environ.get("CORDWOOD_SOAK") == "1"
LOGS = 20_000 if SOAK else 120
COLUMNS = ("offset", "key", "value")
#: The share of batches that are planned again.
REPEATED = 0.3

Row = tuple[int, bytes | None, bytes | None]


def _written(log: RandomLog, folder: Path) -> Path:
    """Write the log directory of a log."""
    logs = folder / f"seed-{log.seed}"
    (logs / NAME).mkdir(parents=True)
    for name, data in log.files.items():
        (logs / NAME / name).write_bytes(data)
    for name, data in log.beside.items():
        (logs / name).write_bytes(data)
    return logs


def _query(options: StreamOptions) -> StreamQuery:
    return StreamQuery(options, SystemFiles(), VirtualClock())


def _rows(
    query: StreamQuery, options: StreamOptions, ends: tuple[JsonObject, JsonObject]
) -> list[Row]:
    found: list[Row] = []
    for pack in query.packs(*ends):
        for batch in read_splits(pack, COLUMNS, options=options.source):
            found += zip(*(batch[name].to_pylist() for name in COLUMNS), strict=True)
    return found


def _streamed(options: StreamOptions, chance: random.Random) -> list[Row]:
    """Return the rows of all batches; fail if a repeated batch differs."""
    query, rows = _query(options), list[Row]()
    start: JsonObject = INITIAL
    while True:
        limits = AdmissionLimits(
            max_offsets=chance.choice((None, chance.randint(1, 40))),
            max_bytes=chance.choice((None, chance.randint(1, 4000))),
        )
        end = query.latest(start, limits)
        if end is start:
            return rows
        batch = _rows(query, options, (start, end))
        if chance.random() < REPEATED:
            query = _query(options)
            assert _rows(query, options, (start, end)) == batch, (start, end)
        rows += batch
        start = end


@pytest.mark.fuzz
@pytest.mark.timeout(36_000 if SOAK else 180)
@pytest.mark.parametrize("isolation", ("read_uncommitted", "read_committed"))
def test_each_record_is_in_one_batch(tmp_path: Path, isolation: str) -> None:
    wrong = list[int]()
    for seed in range(LOGS):
        log, chance = random_log(seed), random.Random(seed)
        logs = _written(log, tmp_path)
        options = parse_stream_options(
            {"path": str(logs), "startingOffsets": "earliest", "isolation.level": isolation}
        )
        expected = [
            (each.offset, each.key, each.value)
            for each in log.readable(is_committed=isolation == "read_committed")
        ]
        if _streamed(options, chance) != expected:
            wrong.append(seed)

    assert wrong == []
