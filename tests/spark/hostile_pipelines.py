"""Random history of logs, and of a pipeline into a table of them, compared with an oracle.

    a step      a trigger, alone, killed, or with something in its middle; a restart; a checkpoint
                that is restored; or something that happens to the log or to the table
    the oracle  knows the batches of the checkpoint, the newest one in each version of the table,
                and the rows of each. It predicts whether a batch is refused, whether the table has
                it already, and the rows afterwards (`pipeline_oracle`)

The source, the plan of a batch and the commit are those of a pipeline. Spark's part is played
here: the offsets of planned batches are kept, the finished ones are counted, and a batch that is
planned and not finished is repeated. Rows have a key; in an upsert some are tombstones.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from cordwood.core.errors import CordwoodError
from cordwood.core.system import SystemFiles
from cordwood.spark.pipeline import table_writer
from cordwood.spark.pipeline.batch_files import BatchFile
from cordwood.spark.pipeline.batch_table import KeyedRows
from cordwood.spark.pipeline.parquet_batches import ParquetBatches
from cordwood.spark.pipeline.pipeline_definition import APPEND, UPSERT, TableSink
from cordwood.spark.pipeline.table_writer import TableWriter
from cordwood.spark.source.split_reader import read_splits
from cordwood.spark.stream.admission import NO_LIMITS, AdmissionLimits
from cordwood.spark.stream.stream_offset import INITIAL, JsonObject, parse_offset
from cordwood.spark.stream.stream_options import StreamOptions, parse_stream_options
from cordwood.spark.stream.stream_query import StreamQuery
from cordwood.testing.virtual_clock import VirtualClock
from tests.spark.hostile_history import DefectError, replaced
from tests.spark.hostile_log_steps import TOPICS, NamedStep
from tests.spark.hostile_logs import write_logs
from tests.spark.hostile_table_steps import ModelState, TableHistory
from tests.spark.hostile_tables import COLUMNS, Row
from tests.spark.kills import Killed
from tests.spark.pipeline_oracle import (
    Expected,
    Policy,
    appended,
    epochs_after,
    is_tombstone,
    key_of,
    next_batch,
    repeated_batch,
    rows_in,
    upserted,
)

if TYPE_CHECKING:
    from cordwood.core.types import TopicPartition

QUERY: Final = str(UUID(int=1))
_KEY: Final = ("topic", "partition", "key")
_TYPES: Final = (pa.string(), pa.int32(), pa.int64(), pa.binary(), pa.int64())
#: The share of refusals after which the owner sets the options that accept the loss.
_ACCEPTED: Final = 0.5
#: Numbers of files, as the random names of tasks.
_NUMBERS: Final = count(1)
_SCHEMA: Final = pa.schema([*zip((*COLUMNS, "key"), _TYPES, strict=True)])


def _nothing() -> None:
    """Do nothing."""


def _die() -> None:
    raise Killed


class Hooks(NamedTuple):
    """Steps within a batch."""

    after_plan: Callable[[], object] = _nothing
    after_tasks: Callable[[], object] = _nothing
    after_commit: Callable[[], object] = _nothing


class PlainFrame:
    """The rows of a batch, in place of a DataFrame; they are read when a batch needs them."""

    columns = _SCHEMA.names

    def __init__(self, read: Callable[[], list[Row]], finish: Callable[[], object]) -> None:
        self.read = read
        self.finish = finish


class PlainWriter(TableWriter):
    """The writer of a pipeline, with the last row of each key in plain Python."""

    def _changes(self, frame: DataFrame) -> KeyedRows:
        plain = cast("PlainFrame", frame)
        last = {key_of(row): row for row in plain.read()}.values()
        kept = [row for row in last if not is_tombstone(row)]
        gone = [row for row in last if is_tombstone(row)]
        plain.finish()
        return KeyedRows(_KEY, _table(kept), _table(gone))


def _write_files(frame: DataFrame, folder: str) -> list[BatchFile]:
    """Write the rows of a batch, as its tasks do."""
    plain = cast("PlainFrame", frame)
    rows = _table(plain.read())
    found = []
    if rows.num_rows:
        path = Path(folder, f"{next(_NUMBERS)}.parquet")
        pq.write_table(rows, path)
        found.append(BatchFile(path.name, path.stat().st_size, rows.num_rows))
    plain.finish()
    return found


def _table(rows: list[Row]) -> pa.Table:
    found = [{**row._asdict(), "key": key_of(row)[-1]} for row in rows]
    return pa.Table.from_pylist(found, _SCHEMA)


class PipelineHistory(TableHistory):
    """One history: its pipeline, and the comparison with the oracle."""

    def __init__(self, folder: Path, seed: int, *, kind: str) -> None:
        super().__init__(folder, seed, kind=kind)
        self.steps: list[str] = []
        self._is_upsert = kind != "parquet" and self.chance.random() < 0.6
        self._policy = Policy(self.chance.random() < 0.3, self.chance.random() < 0.3)
        self._logs_path = folder / "logs"
        self._gaps = folder / "gaps"
        self._options = self._stream_options()
        #: The offsets of planned batches, and the number of finished ones: Spark's checkpoint.
        self._ends: list[JsonObject] = []
        self._epochs: list[dict[TopicPartition, int]] = []
        self._finished = 0
        self._query: StreamQuery | None = None
        self._writer: PlainWriter | None = None

    def _stream_options(self) -> StreamOptions:
        return parse_stream_options(
            {
                "path": str(self._logs_path),
                "subscribe": ",".join(TOPICS),
                "startingOffsets": "earliest",
                "isolation.level": "read_committed",
                **({"gap": "record", "gapTable": str(self._gaps)} if self._policy.may_lose else {}),
                **({"onRecreatedTopic": "restart"} if self._policy.restarts else {}),
            }
        )

    # -- the steps

    def run(self, count: int) -> None:
        """Take random steps, and check each."""
        for _ in range(count):
            self._take(*self.chance.choice(self._choices()))
        self._take("trigger", self.trigger)
        self._take("trigger", partial(self.trigger, limits=NO_LIMITS))
        self._restart()

    def _take(self, name: str, step: Callable[[], object]) -> None:
        self.time += 1
        self.steps.append(name)
        self.seen[name] += 1
        step()
        found = self.table.rows() if self.table.exists() else Counter[Row]()
        if found != self.state.rows:
            raise DefectError(
                f"rows: too many {dict(found - self.state.rows)}, "
                f"missing {dict(self.state.rows - found)}"
            )

    def _choices(self) -> list[NamedStep]:
        steps: list[NamedStep] = [
            *[("trigger", self.trigger)] * 6,
            *[("killed trigger", self._killed)] * 5,
            ("restart", self._restart),
            ("checkpoint restored", self._restore_checkpoint),
            ("two drivers", partial(self.trigger, middle=self._write_as_another)),
            *self.log_steps(),
            ("retention", self._retention),
        ]
        if self.table.exists():
            steps += [
                *self.table_steps(),
                *[("table changed after a kill", self._change_after_kill)] * 3,
                ("table changed", partial(self.trigger, middle=self.safe_table_step)),
            ]
        return steps

    def _restart(self) -> None:
        """End the driver and the process of its source."""
        if self._query is not None:
            self._query.close()
        self._query = self._writer = None

    def _restore_checkpoint(self) -> None:
        """Restore an older copy of the checkpoint."""
        if self._ends:
            left = self.chance.randint(1, len(self._ends))
            del self._ends[left:], self._epochs[left:]
            self._finished = min(self._finished, left - self.chance.randint(0, 1))
            self._restart()
            self.trigger()

    def _change_after_kill(self) -> None:
        """Kill the driver after the commit of the table, change that, and start a new driver."""
        self._kill(Hooks(after_commit=_die), "after the commit")
        for _ in range(self.chance.randint(1, 3)):
            self.some_table_step()
        self.trigger()

    def _killed(self) -> None:
        places = {
            "after the plan": Hooks(after_plan=_die),
            "in the tasks": Hooks(after_tasks=_die),
            "after the commit": Hooks(after_commit=_die),
        }
        if self.table.kind == "parquet" and self.chance.random() < 0.4:
            self._kill_in_moves()
            return
        place = self.chance.choice(list(places))
        self._kill(places[place], place)

    def _kill(self, hooks: Hooks, place: str) -> None:
        try:
            self.trigger(hooks=hooks)
        except Killed:
            self.seen[f"killed {place}"] += 1
            self._restart()

    def _kill_in_moves(self) -> None:
        """Kill the driver before or within the moves of a batch; start a new driver."""
        is_between = self.chance.random() < 0.5

        def move(table: ParquetBatches, batch: Path) -> None:
            for name in json.loads(batch.read_text())["files"] if is_between else ():
                staged = Path(table.name, "_cordwood", "staged", QUERY, name)
                if staged.exists():
                    staged.rename(Path(table.name, name))
            raise Killed

        try:
            with replaced(ParquetBatches, "_move", move):
                self.trigger()
        except Killed:
            self.seen["killed in the moves"] += 1
            self._restart()
            number = len(self._ends) - 1
            batches = self.table.lake / "_cordwood" / "batches" / QUERY
            if self.state.batch < number and (batches / f"{number:020}.json").exists():
                self._add(number)
            self.trigger()

    # -- batches

    def trigger(
        self,
        *,
        limits: AdmissionLimits | None = None,
        middle: Callable[[], object] | None = None,
        hooks: Hooks | None = None,
    ) -> None:
        """Repeat the batch that is planned and not finished, or plan the next one and run it."""
        write_logs(self._logs_path, list(self.logs.values()))
        hooks = hooks or Hooks(after_tasks=middle or _nothing)
        if len(self._ends) == self._finished:
            limits = limits or AdmissionLimits(
                max_offsets=self.chance.choice((None, self.chance.randint(1, 8))),
                max_bytes=self.chance.choice((None, self.chance.randint(1, 400))),
            )
            if not self._plan(limits):
                return
            hooks.after_plan()
        else:
            self.seen["batch repeated"] += 1
        self._run_batch(hooks)

    def _plan(self, limits: AdmissionLimits) -> bool:
        """Plan the next batch; return whether there is one."""
        start = self._start_of(len(self._ends))
        epochs = self._epochs[-1] if self._epochs else {}
        expected = next_batch(start, self.logs, self._policy, epochs)
        try:
            end = self._source().latest(start, limits)
        except CordwoodError as error:
            self._check_refused(expected.refusal, error)
            return False
        if expected.refusal is not None:
            raise DefectError(f"the plan must be refused: {expected.refusal}")
        found = parse_offset(end).positions
        for each, (first, last) in expected.ranges.items():
            at = found.get(each, first) if end is start else found[each]
            least = last if limits == NO_LIMITS else first
            if not least <= at <= last or (end is start and first < last):
                raise DefectError(f"{each}: the batch ends at {at}, not in {least} to {last}")
        if end is not start:
            self._ends.append(end)
            self._epochs.append(epochs_after(expected, self.logs, epochs))
        return end is not start

    def _run_batch(self, hooks: Hooks) -> None:
        """Write the last planned batch, as `foreachBatch` does."""
        number = len(self._ends) - 1
        refusal, is_new = self._refusal_of(number), self.state.batch < number
        frame = PlainFrame(partial(self._read, number), hooks.after_tasks)
        try:
            self._write(frame, number)
        except CordwoodError as error:
            self._check_refused(refusal, error)
            return
        if refusal is not None:
            raise DefectError(f"batch {number} must be refused: {refusal}")
        if is_new:
            self._add(number)
        else:
            self.seen["batch skipped"] += 1
        hooks.after_commit()
        self._finished = number + 1

    def _write(self, frame: PlainFrame, number: int) -> None:
        self._writer = self._writer or self._new_writer()
        with _without_spark():
            self._writer(cast("DataFrame", frame), number)

    def _new_writer(self) -> PlainWriter:
        name = self.table.options.get("table")
        mode, key = (UPSERT, _KEY) if self._is_upsert else (APPEND, ())
        sink = TableSink(
            format=self.table.kind, to=str(self.table.lake), table=name, mode=mode, key=key
        )
        return PlainWriter(sink, lambda number: json.dumps(self._ends[number]))

    def _write_as_another(self) -> None:
        """Write the batch from another driver, which has not died yet."""
        number = len(self._ends) - 1
        self.seen["two drivers at once"] += 1
        other = self._new_writer()
        other(cast("DataFrame", PlainFrame(partial(self._read, number), _nothing)), number)

    def _read(self, number: int) -> list[Row]:
        start, end = self._start_of(number), self._ends[number]
        rows: list[Row] = []
        for pack in self._source().packs(start, end):
            for batch in read_splits(pack, COLUMNS, options=self._options.source):
                found = batch.select(list(COLUMNS)).to_pylist()
                rows += [Row(*(row[name] for name in COLUMNS)) for row in found]
        return rows

    def _source(self) -> StreamQuery:
        if self._query is None:
            self._query = StreamQuery(self._options, SystemFiles(), VirtualClock())
        return self._query

    def _start_of(self, number: int) -> JsonObject:
        return self._ends[number - 1] if number else INITIAL

    # -- the oracle

    def _refusal_of(self, number: int) -> str | None:
        """Return why the table or the log does not allow a batch."""
        if self.state.batch < number:
            return self._expected(number).refusal
        end = json.dumps(self._ends[number])
        is_same = self.state.batch == number and self.state.offsets == end
        return None if is_same else "the table is ahead of the checkpoint"

    def _expected(self, number: int) -> Expected:
        """Return what a batch that the table does not have must read from the logs of today."""
        ends = self._start_of(number), self._ends[number]
        return repeated_batch(ends, self.logs, self._policy, self._epochs[number])

    def _add(self, number: int) -> None:
        """Add a batch to the table."""
        rows = rows_in(self._expected(number).ranges, self.logs)
        add = upserted if self._is_upsert else appended
        if self.table.kind == "delta" and not self.history:
            self.versions[0] = self.history[0] = ModelState()
            self.files[0] = frozenset()
        self.state.rows = add(self.state.rows, rows)
        self.state.batch, self.state.offsets = number, json.dumps(self._ends[number])
        self.seen["rows added"] += len(rows)
        self.state.is_forgotten = False
        self.keep_version()

    def _check_refused(self, refusal: str | None, error: CordwoodError) -> None:
        self._restart()
        self.seen["refused"] += 1
        if refusal is not None:
            words = refusal.partition(" ")[2]
            self.seen[f"refused: {words}"] += 1
            if self.chance.random() < _ACCEPTED:
                self._policy = Policy(may_lose=True, restarts=True)
                self._options = self._stream_options()
        elif self.state.is_forgotten and "cannot determine" in str(error):
            self.seen["refused: history unknown"] += 1
        else:
            raise DefectError(f"must not be refused: {error}") from error


@contextmanager
def _without_spark() -> Iterator[None]:
    """Replace the parts of the writer that need a session."""
    with (
        replaced(table_writer, "query_id", lambda _: QUERY),
        replaced(table_writer, "table_schema", lambda _: _SCHEMA),
        replaced(table_writer, "write_files", _write_files),
    ):
        yield
