"""A random history of a log, its tables and their exports, with an oracle in plain Python.

    a step      an export, alone or with something in its middle; an audit; or something that
                happens to the log or to the table
    the oracle  knows the rows of the table, which offsets its exports have covered, and which
                records a log had at which time. It predicts whether an export is refused, the
                rows afterwards, and whether an audit is whole

Jobs run in this process: `run_tasks` is replaced by a loop, and a step in the middle of an export
runs there. Any error that is not a `CordwoodError` is a defect.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias, cast

from cordwood.core.errors import CordwoodError
from cordwood.core.system import SystemFiles
from cordwood.core.types import TopicPartition
from cordwood.spark.jobs.table_audit import audit_job
from cordwood.spark.jobs.table_audit.audit_options import parse_audit_options
from cordwood.spark.jobs.table_export import export_job
from cordwood.spark.jobs.table_export.export_options import parse_export_options
from cordwood.spark.jobs.tables.export_table import ExportTable, TableCommit
from cordwood.spark.jobs.tables.table_ledger import TableState
from tests.spark.hostile_log_steps import TOPICS, NamedStep
from tests.spark.hostile_logs import ModelLog, ModelRecord, write_logs
from tests.spark.hostile_table_steps import Covered, ModelState, TableHistory
from tests.spark.hostile_tables import HostileTable, Row, Rows
from tests.spark.kills import Killed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


#: The committed records of each partition when the tasks of an export began.
ReadRecords: TypeAlias = dict[TopicPartition, dict[int, ModelRecord]]

#: The share of audits that compare contents too.
DEEP: Final = 0.4


class Planned(NamedTuple):
    """The expected result of an export: a refusal, or the records of these ranges."""

    refusal: str | None
    ranges: dict[TopicPartition, tuple[int, int]]
    time: int


class DefectError(AssertionError):
    """The code and the oracle differ."""


class History(TableHistory):
    """One history: its exports and audits, and their comparison with the oracle."""

    def __init__(self, folder: Path, seed: int, *, kind: str) -> None:
        super().__init__(folder, seed, kind=kind)
        self.steps: list[str] = []
        self._logs_path = folder / "logs"
        self.may_lose = self.chance.random() < 0.3
        self.first = self.chance.choice((None, None, 0, 2))

    # -- the steps

    def run(self, count: int) -> None:
        """Take random steps, and check each."""
        for _ in range(count):
            name, step = self._choose()
            self._take(name, step)
        self._take("export", self.export)
        self._take("audit", self.audit)

    def _take(self, name: str, step: Callable[[], object]) -> None:
        self.time += 1
        self.steps.append(name)
        self.seen[name] += 1
        step()
        if self.table.exists():
            found = self.table.rows()
            if found != self.state.rows:
                raise DefectError(
                    f"rows: too many {dict(found - self.state.rows)}, "
                    f"missing {dict(self.state.rows - found)}"
                )

    def _choose(self) -> NamedStep:
        steps: list[NamedStep] = [
            *[("export", self.export)] * 5,
            *[("audit", self.audit)] * 2,
            ("two exports", partial(self._two_exports, is_before_tasks=True)),
            ("two exports", partial(self._two_exports, is_before_tasks=False)),
            ("export during changes of the log", partial(self.export, middle=self.some_log_step)),
            ("killed export", self._killed_export),
            *self.log_steps(),
        ]
        if self.table.exists():
            steps += [
                (
                    "export during changes of the table",
                    partial(self.export, middle=self.some_table_step),
                ),
                (
                    "export during changes of the table",
                    partial(self.export, middle=self.safe_table_step, is_before_tasks=False),
                ),
                *self.table_steps() * 2,
            ]
        return self.chance.choice(steps)

    def table_steps(self) -> list[NamedStep]:
        return [*super().table_steps(), ("expired rows deleted", self._delete_expired)]

    def _delete_expired(self) -> None:
        """Delete rows whose records the log does not have any more, and audit the table."""
        log = self.some_log()
        log.delete_up_to(max(log.start, log.stable_end()))
        self.table.delete(log.partition.topic, log.start)
        kept = {
            row: n
            for row, n in self.state.rows.items()
            if row.topic != log.partition.topic or row.offset >= log.start
        }
        self.change_rows(Counter(kept))
        self.audit()

    # -- exports

    def export(
        self,
        *,
        middle: Callable[[], object] | None = None,
        is_before_tasks: bool = True,
        may_refuse: bool = False,
        topics: tuple[str, ...] = (),
    ) -> None:
        """Run an export of topics, with a step before its tasks, or within its commit."""
        topics = topics or self.chance.choice((("a",), ("b",), TOPICS, TOPICS))
        planned, read = self._plan(topics), ReadRecords()
        before, is_in_middle = {**self.state.covered}, False

        def between() -> None:
            nonlocal is_in_middle
            if middle is not None and not is_in_middle:
                is_in_middle = True
                middle()

        places = (between, _nothing) if is_before_tasks else (_nothing, between)
        try:
            self._run_export(topics, read, *places)
        except CordwoodError as error:
            self._check_refused(planned, error, may_refuse=may_refuse or is_in_middle)
            return
        if planned.refusal is not None:
            raise DefectError(f"must be refused: {planned.refusal}")
        if is_in_middle:
            self._check_continues(planned, before)
        # The state of a rolled back table may be ahead by offsets without records: no task reads.
        self._add(planned, topics, read or _committed(self.logs))

    def _run_export(
        self,
        topics: Sequence[str],
        read: ReadRecords,
        before_tasks: Callable[[], object] = lambda: None,
        in_commit: Callable[[], object] = lambda: None,
    ) -> None:
        write_logs(self._logs_path, list(self.logs.values()))
        options = parse_export_options(
            {
                "path": str(self._logs_path),
                "to": str(self.table.lake),
                "subscribe": ",".join(topics),
                "commitBytes": str(1 << 40),
                **self.table.options,
                **({"gap": "record"} if self.may_lose else {}),
                **self._starting(topics),
            }
        )

        def work_after(*given: Any, **named: Any) -> list[object]:  # noqa: ANN401  # as `run_tasks`
            before_tasks()
            write_logs(self._logs_path, list(self.logs.values()))
            read.update(_committed(self.logs))
            return run_here(*given, **named)

        original = TableCommit.apply_to

        def applied(commit: TableCommit, *given: Any, **named: Any) -> TableState:  # noqa: ANN401  # as it
            after = original(commit, *given, **named)
            in_commit()
            return after

        with (
            replaced(export_job, "run_tasks", work_after),
            replaced(TableCommit, "apply_to", applied),
        ):
            export_job.export_log(cast("SparkSession", None), options, files=SystemFiles())

    def _starting(self, topics: Sequence[str]) -> dict[str, str]:
        has_first = self.first is not None and "a" in topics
        return {"startingOffsets": f'{{"a": {{"0": {self.first}}}}}'} if has_first else {}

    def _check_refused(self, planned: Planned, error: CordwoodError, *, may_refuse: bool) -> None:
        self.seen["refused"] += 1
        if planned.refusal is not None:
            return
        # A table restored to a state before its first export does not have that history.
        if "cannot determine" in str(error) and (self.state.is_forgotten or not self.state.covered):
            self.seen["refused: history unknown"] += 1
            return
        if not may_refuse:
            raise DefectError(f"must not be refused: {error}")

    def _check_continues(self, planned: Planned, before: Mapping[TopicPartition, Covered]) -> None:
        """Reject a success after a step in the middle that has moved the ends of the table."""
        for each, (start, _) in planned.ranges.items():
            covered = self.state.covered.get(each)
            is_new = covered is None and each not in before
            if not is_new and (covered is None or covered.end != start):
                raise DefectError(f"{each}: committed from {start} on, the table has {covered}")

    def _plan(self, topics: Sequence[str]) -> Planned:
        ranges, refusal = {}, None
        for each, log in self.logs.items():
            covered = self.state.covered.get(each)
            if each.topic not in topics:
                continue
            if not log.is_mounted:
                refusal = refusal or (f"{each} is unmounted" if covered is not None else None)
                continue
            found = self._refusal_of(log, covered)
            refusal = refusal or found
            first = self.first if str(each) == "a-0" and self.first is not None else log.start
            begin = covered.end if covered is not None else first
            end = log.stable_end()
            if max(begin, log.start) < end:
                ranges[each] = (begin, end)
        return Planned(refusal, ranges, self.time)

    def _refusal_of(self, log: ModelLog, covered: Covered | None) -> str | None:  # noqa: PLR0911  # a reason each
        where = log.partition
        known = self.state.topic_ids.get(where.topic, log.topic_id)
        if known != log.topic_id:
            return f"{where} is another topic"
        starts = self.first if str(where) == "a-0" else None
        if covered is None:
            if starts is None:
                return None
            if starts > max(log.start, log.stable_end()):
                return f"{where} starts after its end"
            is_lost = starts < log.start
            return f"{where} has lost its start" if is_lost and not self.may_lose else None
        if starts is not None and starts not in (covered.start, covered.end):
            return f"{where} starts elsewhere"
        if log.end < covered.end:
            return f"{where} ends before the table"
        cuts = [each.offset for each in log.truncations if each.time >= covered.time]
        if min(cuts, default=covered.end) < covered.end:
            return f"{where} has other records"
        if log.start > covered.end and not self.may_lose:
            return f"{where} has lost offsets"
        return None

    def _add(self, planned: Planned, topics: Sequence[str], read: ReadRecords) -> None:
        """Add the records that the tasks of an export have read; they may have expired since."""
        if not planned.ranges:
            return
        for each, (start, end) in planned.ranges.items():
            rows: Rows = Counter(
                Row(*each, offset, record.value)
                for offset, record in read[each].items()
                if start <= offset < end
            )
            before = self.state.covered.get(each, Covered(start, start, 0, Counter()))
            self.state.covered[each] = Covered(before.start, end, planned.time, before.rows + rows)
            self.state.rows = self.state.rows + rows
            self.seen["records added"] += rows.total()
        for log in self.logs.values():
            if log.partition.topic in topics and log.is_mounted:
                self.state.topic_ids[log.partition.topic] = log.topic_id
        self.state.is_forgotten = False
        self.keep_version()

    def _two_exports(self, *, is_before_tasks: bool) -> None:
        """Run an export in the middle of another one, often of another topic."""
        for log in self.logs.values():
            log.append(self.chance, self.next_serial())
            log.replicate(log.end)
        one, other = self.chance.choice(
            ((TOPICS, TOPICS), (("a",), ("b",)), (("b",), ("a",)), (("a",), TOPICS))
        )

        def nested() -> None:
            self.seen["two exports at once"] += 1
            self.export(may_refuse=self.table.kind == "parquet", topics=other)

        self.export(middle=nested, is_before_tasks=is_before_tasks, topics=one)

    def _killed_export(self) -> None:
        topics = self.chance.choice((("a",), ("b",), TOPICS))
        planned, is_after = self._plan(topics), self.chance.random() < 0.5
        read = ReadRecords()
        try:
            with self.table.killing(is_after=is_after):
                self._run_export(topics, read)
        except CordwoodError as error:
            self._check_refused(planned, error, may_refuse=False)
        except Killed:
            self.seen[f"killed {'after' if is_after else 'before'} the commit"] += 1
            table = _opened(self.table)
            with table.writing():
                pass
            if is_after and planned.refusal is None and _has_grown(table, self.state):
                self._add(planned, topics, read)
        else:
            if planned.ranges or planned.refusal is not None:
                raise DefectError("an export that had to be killed has ended")

    # -- audits

    def audit(self) -> None:
        """Compare the result of an audit, of offsets or of contents too, with the oracle's."""
        if not self.table.exists() or not self.state.covered:
            return
        is_deep = self.chance.random() < DEEP
        write_logs(self._logs_path, list(self.logs.values()))
        options = parse_audit_options(
            {
                "path": str(self._logs_path),
                "of": str(self.table.lake),
                "isolation.level": "read_committed",
                "subscribe": ",".join(TOPICS),
                **self.table.options,
                **({"deep": "true"} if is_deep else {}),
            }
        )
        expected = _fault_of(self.state, self.logs, is_deep=is_deep)
        try:
            with replaced(audit_job, "run_tasks", run_here):
                found = audit_job.audit_table(cast("SparkSession", None), options)
        except CordwoodError as error:
            self.seen["audit refused"] += 1
            if expected is None and not self.state.is_forgotten:
                raise DefectError(f"the audit must not be refused: {error}") from error
            return
        if self.state.is_forgotten:
            return
        kind = "deep audit" if is_deep else "audit"
        self.seen[f"{kind}: {'whole' if found.is_whole else 'faults'}"] += 1
        if found.is_whole != (expected is None):
            raise DefectError(f"audit: {found}, oracle: {expected}")


def _has_grown(table: ExportTable, before: ModelState) -> bool:
    state = table.state()
    ends = {} if state is None else {at: each.end for at, each in state.exported.items()}
    return ends != {at: each.end for at, each in before.covered.items()}


def _nothing() -> None:
    """Do nothing."""


def _place(row: Row) -> Row:
    return row._replace(value=b"")


@contextmanager
def replaced(module: object, name: str, value: object) -> Iterator[None]:
    """Replace an attribute of a module."""
    original = getattr(module, name)
    setattr(module, name, value)
    try:
        yield
    finally:
        setattr(module, name, original)


def run_here(
    _spark: object,
    tasks: Sequence[object],
    *,
    work: Callable[[Any, Callable[[int], object]], object],
    **_: object,
) -> list[object]:
    """Run tasks in this process, in place of `run_tasks`."""
    return [work(task, lambda _size: None) for task in tasks]


def _fault_of(
    state: ModelState, logs: Mapping[TopicPartition, ModelLog], *, is_deep: bool
) -> str | None:
    """Return a reason why the table is not whole; None if it is."""
    exported: Rows = Counter()
    for log in logs.values():
        topic = log.partition.topic
        if log.is_mounted and state.topic_ids.get(topic, log.topic_id) != log.topic_id:
            return f"{topic} is another topic"
    for each, covered in state.covered.items():
        exported += Counter({_place(row): n for row, n in covered.rows.items()})
        log = logs[each]
        if not log.is_mounted:
            return f"{each} is unmounted"
        if log.end < covered.end:
            return f"{each} ends before the table"
        cuts = [cut.offset for cut in log.truncations if cut.time >= covered.time]
        if min(cuts, default=covered.end) < covered.end:
            return f"{each} has other records"
    present: Rows = Counter()
    for row, count in state.rows.items():
        present[_place(row)] += count
    if present != exported:
        return "rows are missing"
    return _altered(state, logs) if is_deep else None


def _altered(state: ModelState, logs: Mapping[TopicPartition, ModelLog]) -> str | None:
    """Return a row with another value than its record has in the log; None without one."""
    values: dict[tuple[str, int, int], bytes] = {
        (partition.topic, partition.partition, offset): record.value
        for partition, log in logs.items()
        for offset, record in log.committed().items()
        if offset < log.stable_end()
    }
    for row in state.rows:
        if values.get(row[:3], row.value) != row.value:
            return f"{row} is altered"
    return None


def _opened(table: HostileTable) -> ExportTable:
    options = parse_export_options({"path": "/", "to": str(table.lake), **table.options})
    return export_job.open_table(options.address, SystemFiles())


def _committed(logs: Mapping[TopicPartition, ModelLog]) -> ReadRecords:
    return {each: log.committed() for each, log in logs.items()}
