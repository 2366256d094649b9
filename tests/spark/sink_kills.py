"""Kill harness of the exactly-once sink: a table of failures, and one driver for many of them.

    run 1   a driver with a query for each case. Queries whose driver is to die stand still at their
            points; the others fail, lose a worker or are stopped, and go on by themselves
    broker  in some cases all queries stand at their points, and the broker dies and starts again
    kill    the driver, its JVM and all its Python processes die of SIGKILL at once. The processes
            of zombies stand still
    lost    in some cases transactions are lost before the next run, as by their timeout
    run 2   another driver goes on with the queries that have died
    zombie  the processes that stood still go on, and must not change anything

Afterwards each row must be visible once. Rows that were written more than once are in the log of
the topic, and show that the case has happened.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event
from typing import Final, NamedTuple

from cordwood.client.blocking import Admin, Consumer
from cordwood.core.types import TopicPartition
from cordwood.spark.sink.exactly_once.intent_record import join_record
from cordwood.spark.sink.exactly_once.sink_identity import query_id_of
from cordwood.spark.sink.exactly_once.sink_names import SinkNames
from tests.spark.hooked_sink import OUTCOME, REACHED, RELEASED
from tests.spark.sink_program import Case
from tests.spark.workers import below
from tests.spark_session import SITE

#: Tasks that stand still have a core each.
LOCAL: Final = "local[8, 3]"
SOURCES: Final = Path(__file__).parents[2]
IS_SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
PARTITIONS: Final = 4
#: Two files per batch.
_FILES: Final = 6 if IS_SOAK else 4
ROWS: Final = 20 * _FILES
_BATCH: Final = 1
_PATIENCE_S: Final = 1_500 if IS_SOAK else 300


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
    #: Whether the broker dies while the query stands at the point, and starts again.
    kills_broker: bool = False
    #: Whether the committing process outlives its driver, and goes on after its successor.
    is_zombie: bool = False
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
    Failure(
        "zombie-entry",
        "a driver that was replaced goes on before its decision",
        "entry",
        is_rewritten=True,
        is_zombie=True,
    ),
    Failure(
        "zombie-intent",
        "a driver that was replaced goes on within its decision",
        "intent",
        is_rewritten=True,
        is_zombie=True,
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

#: The broker dies at the points of `commit` and of a task, and starts again.
BROKER_FAILURES: Final = tuple(
    Failure(f"broker-{point}", words, point, starts=3, kills_broker=True)
    for point, words in (
        ("task", "the broker restarts while tasks write"),
        ("entry", "the broker restarts before the decision"),
        ("intent", "the broker restarts within the decision"),
        ("decided", "the broker restarts after the decision"),
        ("half", "the broker restarts between two ends"),
        ("ended", "the broker restarts after all ends"),
    )
)
#: Failures of an executor, which is a process of its own in a cluster.
EXECUTOR_FAILURES: Final = (
    Failure("executor", "an executor dies", "task", "executor", is_rewritten=True),
    Failure(
        "orphan",
        "an executor dies, and its task goes on after the batch",
        "rows",
        "orphan",
        is_rewritten=True,
        is_zombie=True,
    ),
)
DRIVER_FAILURES: Final = tuple(each._replace(kills_driver=True) for each in _DRIVER)
FAILURES: Final = (*DRIVER_FAILURES, *_LIVE, *BROKER_FAILURES, *EXECUTOR_FAILURES)

#: The same harness around a sink that writes at least once must show duplicates.
NAIVE: Final = (
    Failure("naive-task-fails", "", "task", "raise", is_exactly_once=False, is_rewritten=True),
    Failure(
        "naive-entry", "", "entry", kills_driver=True, is_exactly_once=False, is_rewritten=True
    ),
)


class Target(NamedTuple):
    """Brokers, the prefix of the cases in them, the failures, and the death of the broker."""

    name: str
    address: str
    failures: Sequence[Failure]
    #: Kills the broker, and starts it again.
    restart: Callable[[], object] | None = None


class Sighting(NamedTuple):
    """The rows of a topic: visible ones, distinct visible ones, and all in the log."""

    visible: int
    distinct: int
    written: int


class Drill(NamedTuple):
    """A failure in a target, and its query."""

    target: Target
    failure: Failure
    case: Case

    def has(self, name: str) -> bool:
        """Return whether a file of the hook is written."""
        path = Path(self.case.folder, name)
        return path.exists() and path.stat().st_size > 0

    def release(self) -> None:
        """Let the process at the point go on."""
        Path(self.case.folder, RELEASED).touch()


def run_matrix(
    targets: Sequence[Target], folder: Path, *, master: str = LOCAL
) -> Iterator[tuple[Failure, Sighting]]:
    """Run the failures of all targets in one driver; yield the rows of each topic at the end."""
    drills = [
        Drill(target, failure, _begun(folder, target, failure))
        for target in targets
        for failure in target.failures
    ]
    deadly = [each for each in drills if each.failure.kills_driver]
    with _run_and_kill(drills, deadly, folder=folder, master=master):
        for each in drills:
            if each.failure.loses:
                _lose_transactions(each.case, each.target)
        if deadly:
            _run([each.case for each in deadly], folder, "second")
        _release_zombies([each for each in drills if each.failure.is_zombie])
    for each in drills:
        yield each.failure, sighted(each.target, each.case.name)


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


@contextmanager
def _run_and_kill(
    drills: Sequence[Drill], deadly: Sequence[Drill], *, folder: Path, master: str
) -> Iterator[None]:
    """Run until the deadly cases stand still and the others are finished, then kill all.

    The processes of zombies are killed after the block.
    """
    driver = _started([each.case for each in drills], folder, "first", master=master)
    others = {each.case.name for each in drills} - {each.case.name for each in deadly}
    try:
        _restart_brokers(drills, driver, folder)
        _wait(
            driver,
            folder,
            "first",
            lambda: (
                all(each.has(REACHED) for each in deadly) and others <= _finished(folder, "first")
            ),
        )
        zombies = _zombies(drills)
        _kill([each for each in below(driver.pid) if each not in zombies], driver)
        yield
    finally:
        left = below(driver.pid) if driver.poll() is None else ()
        _kill([*left, *_zombies(drills)], driver)


def _kill(family: Sequence[int], driver: subprocess.Popen[bytes]) -> None:
    """Kill processes; the daemons of PySpark before the JVM, or they would end their workers."""
    for process in reversed(family):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    driver.kill()
    driver.wait()


def _zombies(drills: Sequence[Drill]) -> set[int]:
    """Return the processes that outlive their drivers."""
    return {
        int(Path(each.case.folder, REACHED).read_text(encoding="utf-8"))
        for each in drills
        if each.failure.is_zombie and each.has(REACHED)
    }


def _restart_brokers(
    drills: Sequence[Drill], driver: subprocess.Popen[bytes], folder: Path
) -> None:
    """Restart each broker that is to die when all its queries are at their points."""
    for target in {each.target.name: each.target for each in drills}.values():
        if target.restart is not None:
            mine = [each for each in drills if each.target.name == target.name]
            _wait(driver, folder, "first", partial(_are_at_points, mine))
            target.restart()
            for each in mine:
                each.release()


def _are_at_points(drills: Sequence[Drill]) -> bool:
    return all(each.has(REACHED) for each in drills)


def _release_zombies(drills: Sequence[Drill]) -> None:
    """Let the zombies go on, and check that they fail."""
    for each in drills:
        each.release()
    waiting = Event()
    for each in drills:
        for _ in range(_PATIENCE_S * 20):
            if each.has(OUTCOME):
                break
            waiting.wait(0.05)
        assert each.has(OUTCOME), f"{each.case.name}: the zombie has not failed"


def _run(cases: Sequence[Case], folder: Path, run: str) -> None:
    """Run cases to their ends."""
    driver = _started(cases, folder, run, master=LOCAL)
    assert driver.wait(_PATIENCE_S) == 0, _words(folder, run)
    names = {case.name for case in cases}
    assert names == _finished(folder, run), _words(folder, run)


def _started(
    cases: Sequence[Case], folder: Path, run: str, *, master: str
) -> subprocess.Popen[bytes]:
    list_file, report = folder / f"{run}.json", folder / f"{run}.report"
    list_file.write_text(json.dumps([each._asdict() for each in cases]), encoding="utf-8")
    report.touch()
    paths = os.pathsep.join((SITE, str(SOURCES), str(SOURCES / "src")))
    with (folder / f"{run}.txt").open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.spark.sink_program", str(list_file), str(report), master],
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
    """Return the rows of a topic, once it has the markers of all transactions.

    A commit is answered before its markers are written, so its rows can be invisible for a moment.
    """
    partitions = [(topic, number) for number in range(PARTITIONS)]
    with Consumer[bytes, bytes](target.address, isolation_level="read_uncommitted") as consumer:
        ends = consumer.end_offsets(partitions)
    visible, written = (
        _rows(target, ends, each) for each in ("read_committed", "read_uncommitted")
    )
    return Sighting(len(visible), len(set(visible)), len(written))


def _rows(target: Target, ends: Mapping[TopicPartition, int], isolation: str) -> list[bytes | None]:
    with Consumer[bytes, bytes](target.address, isolation_level=isolation) as consumer:
        consumer.assign(ends)
        consumer.seek_to_beginning(*ends)
        found: list[bytes | None] = []
        for _ in range(200):
            if all(consumer.position(each) >= end for each, end in ends.items()):
                return found
            found += [record.value for record in consumer.poll(100)]
    raise AssertionError(f"{ends}: {len(found)} rows, and readers wait for an open transaction")
