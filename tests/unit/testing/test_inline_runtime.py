"""Tests of the runtime without threads and processes."""

from cordwood.core.ports import Lane
from cordwood.testing.inline_runtime import inline_runtime
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from tests.unit.compaction.cleaner_samples import CleanerHarness, Control, job_of


def test_cleaning_pass_is_done_when_submit_returns() -> None:
    harness, clock = CleanerHarness(), VirtualClock()
    job = job_of(harness)
    runtime = inline_runtime(
        harness.house.files, clock=clock, scheduler=clock, random=SeededRandom(1)
    )

    pending = runtime.cleaner_worker.submit(
        lambda: runtime.cleaner_runner.run(job, Control()), lane=Lane.BACKGROUND
    )

    assert pending.result().end == job.plan.end


def test_network_has_the_clock_of_the_logs_by_default() -> None:
    harness, clock = CleanerHarness(), VirtualClock()

    runtime = inline_runtime(
        harness.house.files, clock=clock, scheduler=clock, random=SeededRandom(1)
    )

    assert runtime.network_clock is clock
    assert runtime.network_scheduler is clock
