"""Forecast of cleaning from the files of a log."""

from dataclasses import replace

import pytest

from cordwood.compaction.cleaning_job import CleaningFailedError
from cordwood.compaction.plan.candidates import UncleanableReason
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.reader.path_resolution import open_reader
from cordwood.workbench.explain.cleaning_outlook import (
    CHEAP_BYTES,
    CleaningOutlook,
    ExplainDetails,
    Horizon,
    OpenTransaction,
    forecast_cleaning,
)
from tests.unit.storage.log_samples import DIRECTORY, NOW, LogHarness, batch, filled, lead, produced
from tests.unit.storage.reader_samples import THREES, harm, name

COMPACTED = replace(THREES, cleanup_policy=frozenset({COMPACT}))


def forecast(
    place: LogHarness, config: LogConfig = COMPACTED, **options: int | None
) -> CleaningOutlook:
    """Return the forecast for a log; the time is now by default."""
    reader = open_reader(place.files, DIRECTORY)
    return forecast_cleaning(
        place.files,
        reader,
        config=config,
        high_watermark=options.get("high_watermark"),
        now_ms=options.get("now_ms") or NOW,
        details=ExplainDetails(has_horizons=bool(options.get("has_horizons"))),
    )


def place_of(*timestamps: int) -> tuple[LogHarness, Log]:
    """Return a log of records of these times, three a segment."""
    place = LogHarness()
    log = place.open(COMPACTED)
    lead(log, *(batch(timestamp=timestamp) for timestamp in timestamps))
    log.set_high_watermark(log.bounds.log_end)
    return place, log


def test_dirty_part_of_a_log_is_reported() -> None:
    place, log = place_of(*[NOW] * 8)
    place.files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 3\n")
    size = log.segments[0].size

    found = forecast(place)

    assert (found.first_dirty, found.end, found.warning) == (3, 6, None)
    assert (found.clean_bytes, found.cleanable_bytes, found.dirty_ratio) == (size, size, 0.5)
    assert (found.is_due, found.due_ms, found.missing_bytes) == (False, None, 1)
    assert [each.is_clean for each in found.segments] == [True, False, False]


def test_checkpoint_that_is_wrong_is_reported() -> None:
    place, _ = place_of(NOW)
    place.files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 99\n")

    warning = forecast(place).warning

    assert warning is not None
    assert "t-0: the cleaner checkpoint 99 is above the log end offset 1" in warning


def test_young_segment_has_the_time_of_its_cleaning() -> None:
    place, _ = place_of(NOW, NOW, NOW + 7, NOW, NOW, NOW, NOW)

    found = forecast(place, replace(COMPACTED, min_compaction_lag_ms=1000), now_ms=NOW + 1001)

    first, second, _ = found.segments
    assert (first.holds, first.until_ms) == (
        (UncleanableReason.MIN_COMPACTION_LAG.value,),
        NOW + 1007,
    )
    assert (second.holds, second.until_ms) == ((UncleanableReason.OLDER_SEGMENT.value,), NOW + 1007)
    assert found.due_ms == NOW + 1007


def test_roll_of_the_active_segment_is_forecast() -> None:
    place, log = place_of(NOW)

    (found,) = forecast(place, replace(COMPACTED, segment_ms=5000)).segments

    assert found.holds == (UncleanableReason.ACTIVE_SEGMENT.value,)
    assert (found.rolls_after_bytes, found.rolls_after_ms) == (230 - log.size, NOW + 5000)


@pytest.mark.parametrize("timestamp", (NOW, -1))
def test_active_segment_without_times_is_rolled_by_its_size(timestamp: int) -> None:
    place, log = place_of(timestamp)
    if timestamp == NOW:
        log.roll()

    active = forecast(place).segments[-1]

    assert (active.rolls_after_ms, active.until_ms) == (None, None)
    assert active.rolls_after_bytes == 230 - log.segments[-1].size


def test_open_transaction_is_reported_with_its_producer() -> None:
    place = LogHarness()
    log = place.open(COMPACTED)
    lead(log, batch(), produced(0, producer=(7, 0), is_transactional=True))
    filled(log, 3)

    found = forecast(place)

    assert found.undecided == OpenTransaction(producer_id=7, first_offset=1)
    assert found.segments[0].holds == (UncleanableReason.LAST_STABLE_OFFSET.value,)
    assert forecast(place, high_watermark=1).undecided is None


def test_batches_with_a_horizon_are_listed() -> None:
    place = LogHarness()
    log = place.open(COMPACTED)
    fields = BatchFields(base_offset=1, delete_horizon_ms=NOW + 5)
    builder = BatchBuilder(fields)
    builder.append(b"key", None, timestamp=NOW)
    log.append_as_follower(bytes(batch()) + bytes(builder.build()), leader_epoch=0)

    assert forecast(place).horizons is None
    assert forecast(place, has_horizons=True).horizons == (
        Horizon(
            path=f"{DIRECTORY}/{name(0)}",
            position=len(batch()),
            base_offset=1,
            last_offset=1,
            is_control=False,
            horizon_ms=NOW + 5,
        ),
    )


def written(*, is_large: bool) -> LogHarness:
    """Return a log of one key, larger or smaller than the limit of the automatic count."""
    place = LogHarness()
    log = place.open(replace(COMPACTED, segment_bytes=1 << 20))
    for _ in range(2):
        value = bytes(CHEAP_BYTES * 2 // 3 if is_large else 100)
        lead(log, batch(value=value))
        log.roll()
    log.set_high_watermark(log.bounds.log_end)
    return place


def freed(place: LogHarness, *, is_deep: bool = False) -> int | None:
    reader = open_reader(place.files, DIRECTORY)
    details = ExplainDetails(is_deep=is_deep)
    return forecast_cleaning(
        place.files, reader, config=COMPACTED, high_watermark=None, now_ms=NOW, details=details
    ).freed_bytes


def test_freed_bytes_are_counted_for_small_logs_or_on_request() -> None:
    small, large = written(is_large=False), written(is_large=True)

    assert freed(small) == len(batch(value=bytes(100)))
    assert freed(large) is None
    assert freed(large, is_deep=True) == len(batch(value=bytes(CHEAP_BYTES * 2 // 3)))


def test_log_without_cleanable_segments_frees_no_bytes() -> None:
    assert freed(place_of(NOW)[0]) == 0


def test_damage_is_an_error_if_the_count_is_requested() -> None:
    place = written(is_large=False)
    harm(place.files, name(0), 90)

    assert freed(place) is None
    with pytest.raises(CleaningFailedError, match="checksum"):
        freed(place, is_deep=True)
