"""Kill harness of the exactly-once sink: a table of failures, and one driver for many of them.

    run 1   a driver with a query for each case. Queries whose driver is to die stand still at their
            points; the others fail, lose a worker or are stopped, and go on by themselves
    kill    the driver, its JVM and all its Python processes die of SIGKILL at once
    lost    in some cases transactions are lost before the next run, as by their timeout
    run 2   another driver goes on with the queries that have died

Afterwards each row must be visible once. Rows that were written more than once are in the log of
the topic, and show that the case has happened.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

from cordwood.client.blocking import Admin, Consumer
from cordwood.spark.sink.exactly_once.intent_record import join_record
from cordwood.spark.sink.exactly_once.sink_identity import query_id_of
from cordwood.spark.sink.exactly_once.sink_names import SinkNames
from tests.spark.hooked_sink import REACHED
from tests.spark.sink_program import Case
from tests.spark.workers import below

SOURCES: Final = Path(__file__).parents[2]
PARTITIONS: Final = 4
ROWS: Final = 120
_FILES: Final = 6
_BATCH: Final = 1
_PATIENCE_S: Final = 240


class Failure(NamedTuple):
    """A row of the failure matrix."""

    name: str
    #: The failure in the words of the documentation.
    words: str
    point: str = "none"
    action: str = "stand"
    starts: int = 1
    stops: bool = False
    #: Whether the driver dies at the point.
    kills_driver: bool = False
    #: Whether transactions that are still open are lost before the next run.
    loses: bool = False
    #: Whether the batch is written again.
    is_rewritten: bool = False
    is_exactly_once: bool = True


_DRIVER: Final = (
    Failure("task", "the driver dies while tasks write", "task", is_rewritten=True),
    Failure("entry", "the driver dies before the decision", "entry", is_rewritten=True),
    Failure("intent", "the driver dies within the decision", "intent", is_rewritten=True),
    Failure("decided", "the driver dies after the decision", "decided"),
    Failure("half", "the driver dies between two ends", "half"),
    Failure("ended", "the driver dies after all ends", "ended"),
    Failure("done", "the driver dies before Spark's commit log", "done"),
    Failure(
        "all-lost",
        "all transactions are lost after the decision",
        "decided",
        loses=True,
        is_rewritten=True,
    ),
    Failure(
        "half-lost",
        "some transactions are lost after the decision",
        "half",
        loses=True,
        is_rewritten=True,
    ),
)
_LIVE: Final = (
    Failure("none", "nothing"),
    Failure("task-fails", "a task fails, and is tried again", "task", "raise", is_rewritten=True),
    Failure("task-dies", "a Python worker dies", "task", "die", is_rewritten=True),
    Failure(
        "commit-fails-early",
        "`commit` fails before the decision",
        "entry",
        "raise",
        2,
        is_rewritten=True,
    ),
    Failure(
        "commit-fails-open",
        "`commit` fails within the decision",
        "intent",
        "raise",
        2,
        is_rewritten=True,
    ),
    Failure("commit-fails-late", "`commit` fails after the decision", "decided", "raise", 2),
    Failure("committer-dies", "the process that commits dies between two ends", "half", "die", 2),
    Failure("stopped", "the query is stopped during `commit`", "ended", starts=2, stops=True),
)

DRIVER_FAILURES: Final = tuple(each._replace(kills_driver=True) for each in _DRIVER)
FAILURES: Final = (*DRIVER_FAILURES, *_LIVE)

#: The same harness around a sink that writes at least once must show duplicates.
NAIVE: Final = (
    Failure("naive-task-fails", "", "task", "raise", is_exactly_once=False, is_rewritten=True),
    Failure(
        "naive-entry", "", "entry", kills_driver=True, is_exactly_once=False, is_rewritten=True
    ),
)


class Target(NamedTuple):
    """Brokers, and the prefix of the cases in them."""

    name: str
    address: str


class Sighting(NamedTuple):
    """The rows of a topic: visible ones, distinct visible ones, and all in the log."""

    visible: int
    distinct: int
    written: int


def run_matrix(
    targets: Sequence[Target], failures: Iterable[Failure], folder: Path
) -> dict[tuple[str, str], Sighting]:
    """Run all failures in all targets; return the rows of each topic at the end."""
    pairs = [(target, failure) for target in targets for failure in failures]
    cases = [_begun(folder, target, failure) for target, failure in pairs]
    deadly = [case for case, (_, each) in zip(cases, pairs, strict=True) if each.kills_driver]
    _run_and_kill(cases, deadly, folder)
    for case, (target, failure) in zip(cases, pairs, strict=True):
        if failure.loses:
            _lose_transactions(case, target)
    _run(deadly, folder, "second")
    return {
        (target.name, failure.name): sighted(target, case.name)
        for case, (target, failure) in zip(cases, pairs, strict=True)
    }


def _begun(folder: Path, target: Target, failure: Failure) -> Case:
    """Create a topic and the input of a query."""
    name = f"{target.name}-{failure.name}"
    place = folder / name
    (place / "input").mkdir(parents=True)
    each = ROWS // _FILES
    for number in range(_FILES):
        rows = range(number * each, (number + 1) * each)
        text = "".join(f"{row}\n" for row in rows)
        (place / "input" / f"{number:02}.txt").write_text(text, encoding="utf-8")
    with Admin(target.address) as admin:
        admin.create_topic(name, partitions=PARTITIONS)
    sink = {"kafka.bootstrap.servers": target.address, "topic": name}
    if not failure.is_exactly_once:
        sink["delivery"] = "at-least-once"
    return Case(
        name=name,
        folder=str(place),
        sink=sink,
        point=failure.point,
        batch=_BATCH,
        action=failure.action,
        starts=failure.starts,
        stops=failure.stops,
    )


def _run_and_kill(cases: Sequence[Case], deadly: Sequence[Case], folder: Path) -> None:
    """Run until the deadly cases stand still and the others are finished, then kill all."""
    driver = _started(cases, folder, "first")
    others = {case.name for case in cases} - {case.name for case in deadly}
    try:
        _wait(
            driver,
            folder,
            "first",
            lambda: (
                all(Path(each.folder, REACHED).exists() for each in deadly)
                and others <= _finished(folder, "first")
            ),
        )
    finally:
        family = [driver.pid, *below(driver.pid)]
        for process in family:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        driver.wait()


def _run(cases: Sequence[Case], folder: Path, run: str) -> None:
    """Run cases to their ends."""
    driver = _started(cases, folder, run)
    assert driver.wait(_PATIENCE_S) == 0, _words(folder, run)
    names = {case.name for case in cases}
    assert names == _finished(folder, run), _words(folder, run)


def _started(cases: Sequence[Case], folder: Path, run: str) -> subprocess.Popen[bytes]:
    list_file, report = folder / f"{run}.json", folder / f"{run}.report"
    list_file.write_text(json.dumps([each._asdict() for each in cases]), encoding="utf-8")
    report.touch()
    paths = os.pathsep.join((str(SOURCES), str(SOURCES / "src")))
    with (folder / f"{run}.txt").open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.spark.sink_program", str(list_file), str(report)],
            cwd=SOURCES,
            env=os.environ | {"PYTHONPATH": paths},
            stdout=output,
            stderr=subprocess.STDOUT,
        )


def _wait(
    driver: subprocess.Popen[bytes], folder: Path, run: str, is_time: Callable[[], bool]
) -> None:
    waiting = Event()
    for _ in range(_PATIENCE_S * 20):
        if is_time():
            return
        assert driver.poll() is None, _words(folder, run)
        waiting.wait(0.05)
    raise AssertionError(f"the cases are not where they should be: {_words(folder, run)}")


def _finished(folder: Path, run: str) -> set[str]:
    return {each["case"] for each in events(folder, run) if each["event"] == "finished"}


def events(folder: Path, run: str) -> Iterator[Mapping[str, str]]:
    """Yield the lines of a report."""
    for line in (folder / f"{run}.report").read_text(encoding="utf-8").splitlines():
        yield json.loads(line)


def _words(folder: Path, run: str) -> str:
    """Return the report and the end of the output of a run."""
    report = (folder / f"{run}.report").read_text(encoding="utf-8")
    output = (folder / f"{run}.txt").read_text(encoding="utf-8", errors="replace")
    return f"{report[-6_000:]}\n{output[-6_000:]}"


def _lose_transactions(case: Case, target: Target) -> None:
    """Abort the open transactions of a decision, as their timeout does."""
    names = SinkNames(f"cordwood-{query_id_of(f'{case.folder}/checkpoint')}")
    with Admin(target.address) as admin:
        found = admin.list_group_offsets(names.group)
        record = join_record({each.partition: offset.metadata for each, offset in found.items()})
        assert record is not None
        assert record.batch == _BATCH
        ids = [each.transactional_id for each in record.handles(names)]
        states = {each.transactional_id: each.state for each in admin.describe_transactions(ids)}
        open_ids = [name for name, state in states.items() if state == "Ongoing"]
        assert open_ids, states
        admin.fence_producers(open_ids)


def sighted(target: Target, topic: str) -> Sighting:
    """Return the rows of a topic."""
    visible, written = (
        _rows(target, topic, each) for each in ("read_committed", "read_uncommitted")
    )
    return Sighting(len(visible), len(set(visible)), len(written))


def _rows(target: Target, topic: str, isolation: str) -> list[bytes | None]:
    partitions = [(topic, number) for number in range(PARTITIONS)]
    with Consumer[bytes, bytes](target.address, isolation_level=isolation) as consumer:
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        found: list[bytes | None] = []
        for _ in range(200):
            if all(consumer.position(each) >= end for each, end in ends.items()):
                return found
            found += [record.value for record in consumer.poll(100)]
    raise AssertionError(f"{topic}: {len(found)} rows, and readers wait for an open transaction")
