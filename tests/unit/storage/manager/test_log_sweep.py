"""A sweep visits every log, a few per loop turn, and survives errors of single logs."""

from cordwood.core.errors import KafkaStorageError
from cordwood.storage.log.log import Log
from cordwood.storage.manager import log_renames
from cordwood.storage.manager.log_sweep import LogSweep
from tests.unit.storage.manager_samples import LogManagerHarness, create_logs, partition


def test_sweep_visits_every_log_and_then_ends() -> None:
    manager = LogManagerHarness().load()
    logs, seen = create_logs(manager, 0, 1, 2), list[object]()

    LogSweep(manager).run(seen.append, then=lambda: seen.append("end"))

    assert seen == [*logs, "end"]


def test_sweep_over_many_logs_runs_in_several_loop_turns() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager, *range(45))
    seen = list[object]()

    LogSweep(manager).run(seen.append, then=lambda: seen.append("end"))
    at_once = len(seen)
    harness.clock.advance(ms=1)

    assert at_once == 20
    assert len(seen) == 46
    assert seen[-1] == "end"


def test_sweep_ignores_deleted_logs() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager, *range(25))
    seen = list[Log]()

    LogSweep(manager).run(seen.append, then=list)
    log_renames.delete(manager, partition(24))
    harness.clock.advance(ms=1)

    assert [log.partition.partition for log in seen] == list(range(24))


def test_sweep_continues_after_a_log_that_cannot_be_maintained() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager, 0, 1)
    seen = list[int]()

    def look(log: Log) -> None:
        seen.append(log.partition.partition)
        raise KafkaStorageError("no")

    LogSweep(manager).run(look, then=lambda: seen.append(9))

    assert seen == [0, 1, 9]
    assert harness.events == [f"orders-{number}: maintenance failed: no" for number in (0, 1)]


def test_sweep_continues_after_an_unexpected_error() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager, *range(25))
    seen = list[int]()

    def look(log: Log) -> None:
        seen.append(log.partition.partition)
        if log.partition.partition == 3:
            raise ValueError("a defect")

    LogSweep(manager).run(look, then=lambda: seen.append(99))
    harness.clock.advance(ms=1)

    assert seen == [*range(25), 99]
    assert (harness.task_failures, len(harness.events)) == (1, 1)
    assert "orders-3: maintenance failed: ValueError('a defect') at " in harness.events[0]
    assert "test_log_sweep.py:" in harness.events[0]


def test_stopped_sweep_makes_no_further_calls() -> None:
    harness = LogManagerHarness()
    manager = harness.load()
    create_logs(manager, *range(25))
    sweep, seen = LogSweep(manager), list[object]()

    sweep.run(seen.append, then=lambda: seen.append("end"))
    sweep.stop()
    harness.clock.advance(ms=1)

    assert len(seen) == 20
