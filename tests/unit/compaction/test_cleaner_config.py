"""Each pass has its share of memory and buffers."""

import pytest

from cordwood.compaction.cleaner_config import CleanerConfig
from cordwood.compaction.cleaning_job import Verify
from tests.unit.compaction.compaction_samples import plan


@pytest.mark.parametrize(("threads", "share"), ((0, 900), (1, 900), (2, 450), (4, 225)))
def test_memory_is_shared_over_the_threads(threads: int, share: int) -> None:
    settings = CleanerConfig(threads=threads, dedupe_buffer_bytes=1000)

    assert settings.job("/a", plan(), seed=7).memory_bytes == share


def test_buffer_is_shared_too_and_never_too_small_to_read() -> None:
    few, many = CleanerConfig(threads=2), CleanerConfig(threads=1000)

    assert few.job("/a", plan(), seed=7).io_buffer_bytes == 262_144
    assert many.job("/a", plan(), seed=7).io_buffer_bytes == 4096


def test_job_has_its_directory_and_verification() -> None:
    job = CleanerConfig(verify=Verify.ALWAYS).job("/a/orders-0", plan(), seed=7)

    assert (job.directory, job.verify, job.seed) == ("/a/orders-0", Verify.ALWAYS, 7)
