"""Compaction of a random log in memory, and the oracle in plain Python that knows the survivors.

Below the end of the pass the last record of each key survives, among those that are plain or
committed; the first pass over a log keeps its tombstones. From the end on everything survives.
"""

import random
from collections.abc import Mapping
from typing import NamedTuple

from cordwood.compaction.cleaning_job import Verify
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.compaction.plan.plan_builder import PassOptions
from cordwood.core.ports import Ports
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.storage.reader.path_resolution import open_reader
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.compact import CompactOrder, CompactReport, compact
from cordwood.workbench.partition_columns import ColumnsRequest, read_partition
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from tests.adversary.random_logs import RandomLog
from tests.adversary.verify_oracle import SOURCE
from tests.unit.workbench.compact_samples import PLAIN_READERS, IdlePassControl


class Row(NamedTuple):
    """A record as a reader gets it."""

    offset: int
    key: bytes | None
    value: bytes | None


class Compacted(NamedTuple):
    """The report of a pass, and the rows of both isolation levels after it."""

    report: CompactReport
    uncommitted: list[Row]
    committed: list[Row]


def order_of(log: RandomLog, verify: Verify) -> CompactOrder:
    """Return an order with options by chance."""
    chance = random.Random(f"order {log.seed}")
    until = chance.choice((None, None, chance.randint(log.start, log.end)))
    options = PassOptions(until=until, is_from_start=chance.random() < 0.3)
    return CompactOrder(pass_options=options, verify=verify, is_rolled=chance.random() < 0.3)


def compacted(files: MemoryFiles, order: CompactOrder) -> Compacted:
    """Compact the partition, and read it."""
    ports = Ports(files=files, clock=VirtualClock(), random=SeededRandom(1))
    runner = InlineRunner(files, PLAIN)
    given = {"cleanup.policy": "compact", "segment.index.bytes": "1200"}
    report = compact(
        ports,
        SOURCE,
        found=SettingsFinder(files, given=given).find("/source", "orders"),
        order=order,
        readers=PLAIN_READERS,
        run=lambda job: runner.run(job, IdlePassControl()),
    )
    uncommitted, committed = (rows_of(files, is_committed=each) for each in (False, True))
    return Compacted(report, uncommitted, committed)


def rows_of(files: MemoryFiles, *, is_committed: bool) -> list[Row]:
    """Return the rows of a reader from the log start on."""
    reader = open_reader(files, SOURCE)
    columns = ("offset", "key", "value")
    request = ColumnsRequest(columns=columns, start=reader.log_start(), is_committed=is_committed)
    found: list[Row] = []
    for rows in read_partition(reader, request, decoder=PlainDecoder()):
        each = (rows[name].to_pylist() for name in columns)
        found += map(Row._make, zip(*each, strict=True))
    return found


def survivors(log: RandomLog, end: int) -> list[Row]:
    """Return the rows that the log has after a pass up to `end`, for read_uncommitted."""
    last: dict[bytes | None, int] = {}
    for each in log.records:
        if each.state in {"plain", "committed"} and each.content.offset < end:
            last[each.content.key] = each.content.offset
    return [
        Row(each.content.offset, each.content.key, each.content.value)
        for each in log.records
        if each.content.offset >= log.start
        and (each.content.offset >= end or _survives(each.state, each.content.offset, last))
    ]


def _survives(state: str, offset: int, last: Mapping[bytes | None, int]) -> bool:
    return state in {"plain", "committed"} and offset in last.values()


def committed_of(log: RandomLog, rows: list[Row]) -> list[Row]:
    """Return the rows that a reader of committed records gets."""
    states = {each.content.offset: each.state for each in log.records}
    return [
        row
        for row in rows
        if states[row.offset] in {"plain", "committed"} and row.offset < log.stable_end
    ]
