"""What the driver does without a session: it refuses, and finds nothing to do."""

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import LogDirectoryError, SettingError
from cordwood.spark.jobs.compact_order import CompactJobOrder
from cordwood.spark.jobs.compacting import Ground, compact
from cordwood.workbench.compact import CompactReport, PlaceToCompact
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.workbench.compact_samples import Shelf

pytestmark = pytest.mark.spark

ORDER = CompactJobOrder()


def ground(shelf: Shelf) -> Ground:
    """Return what stands on no session: whoever asked it for anything would fail."""
    return Ground(spark=None, files=shelf.place.files, clock=shelf.place.clock)  # type: ignore[arg-type]  # as it says


def test_directory_in_use_is_refused() -> None:
    shelf = Shelf("a1", "a2")
    shelf.place.files.lock("/d/.lock")

    with pytest.raises(LogDirectoryError, match="in use by a broker"):
        compact(ground(shelf), [PlaceToCompact(DIRECTORY, shelf.settings())], order=ORDER)


def test_topic_that_is_not_compacted_is_refused() -> None:
    shelf = Shelf("a1", "a2")
    place = PlaceToCompact(DIRECTORY, shelf.settings(cleanup_policy="delete"))

    with pytest.raises(SettingError, match="not compacted"):
        compact(ground(shelf), [place], order=ORDER)


def test_log_without_closed_segments_is_done_at_once_and_heard_of() -> None:
    shelf, heard = Shelf("a1 a2"), list[CompactReport]()
    place = PlaceToCompact(DIRECTORY, shelf.settings())

    done = compact(ground(shelf), [place], order=ORDER, hear=heard.append)

    assert heard == list(done.reports)
    assert (done.reports[0].groups, done.failures) == ((), ())


def test_what_a_killed_job_has_left_is_removed() -> None:
    shelf = Shelf("a1 a2")
    left = f"{DIRECTORY}/cleaning-0123456789abcdef"
    shelf.place.files.make_directory(left)
    shelf.place.files.create(f"{left}/{0:020}.log.cleaned")

    compact(ground(shelf), [PlaceToCompact(DIRECTORY, shelf.settings())], order=ORDER)

    assert not any("cleaning" in name for name in shelf.place.files.list(DIRECTORY))
