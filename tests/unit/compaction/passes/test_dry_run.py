"""A dry run counts the output of a pass, and writes no file."""

from dataclasses import replace

import pytest

from cordwood.compaction.cleaning_job import (
    CleaningFailedError,
    CleaningStoppedError,
)
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.dry_run import dry_run
from tests.unit.compaction.cleaned_log import CleanedLog, Watched
from tests.unit.compaction.compaction_samples import batch
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.storage.reader_samples import name


def filled() -> CleanedLog:
    """Return a log of three cleanable segments and an active one."""
    cleaned = CleanedLog()
    for text in ("a1 b2", "a3 -4", "c5 b-", "d6"):
        cleaned.put(batch(0, text), is_rolled=text != "d6")
    return cleaned


def test_dry_run_counts_equal_those_of_a_pass() -> None:
    cleaned = filled()
    plan = cleaned.plan()
    assert plan is not None
    before = cleaned.place.files.list(DIRECTORY)

    counted = dry_run(cleaned.job(plan), cleaned.place.files, engine=PLAIN, control=Watched())

    assert cleaned.place.files.list(DIRECTORY) == before
    assert replace(counted, verified="all keys") == cleaned.run(plan).certificate
    assert counted.counts.bytes_kept < counted.counts.bytes_read


def test_dry_run_stops_on_request() -> None:
    cleaned = filled()
    plan = cleaned.plan()
    assert plan is not None

    with pytest.raises(CleaningStoppedError):
        dry_run(cleaned.job(plan), cleaned.place.files, engine=PLAIN, control=Watched(2))


def test_dry_run_fails_when_a_segment_is_missing_or_being_swapped() -> None:
    cleaned = filled()
    plan, files = cleaned.plan(), cleaned.place.files
    assert plan is not None
    path = f"{DIRECTORY}/{name(2)}"

    for path_now in (f"{path}.swap", f"{path}.deleted"):
        files.rename(path, path_now)
        with pytest.raises(CleaningFailedError, match=DIRECTORY):
            dry_run(cleaned.job(plan), files, engine=PLAIN, control=Watched())
        path = path_now
