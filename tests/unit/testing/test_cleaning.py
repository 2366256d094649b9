"""Passes that run where they are begun come to what they come to elsewhere."""

from cordwood.testing.cleaning import cleaning_here
from tests.unit.compaction.cleaner_samples import Control, Home, job_of


def test_pass_is_done_when_it_has_been_begun() -> None:
    home = Home()
    job, machine = job_of(home), cleaning_here(home.house.files)

    pending = machine.worker.submit(lambda: machine.runner.run(job, Control()))

    assert pending.result().end == job.plan.end
