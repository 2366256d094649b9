"""What the cleaner would do, told from outside."""

from dataclasses import replace

import pytest

from cordwood.compaction.choosing import Hold
from cordwood.compaction.job import CleaningFailedError
from cordwood.records.builder import BatchBuilder, BatchFields
from cordwood.storage.log import Log
from cordwood.storage.log_config import COMPACT, LogConfig
from cordwood.storage.reader_place import open_reader
from cordwood.workbench.explain_cleaning import (
    CHEAP_BYTES,
    CleaningOutlook,
    Details,
    Horizon,
    Undecided,
    outlook,
)
from tests.unit.storage.log_samples import DIRECTORY, NOW, Place, batch, filled, lead, produced
from tests.unit.storage.reader_samples import THREES, harm, name

COMPACTED = replace(THREES, cleanup_policy=frozenset({COMPACT}))


def told(place: Place, config: LogConfig = COMPACTED, **options: int | None) -> CleaningOutlook:
    """Return what is told of a log, now unless another time is given."""
    reader = open_reader(place.files, DIRECTORY)
    return outlook(
        place.files,
        reader,
        config=config,
        high_watermark=options.get("high_watermark"),
        now_ms=options.get("now_ms") or NOW,
        details=Details(has_horizons=bool(options.get("has_horizons"))),
    )


def place_of(*timestamps: int) -> tuple[Place, Log]:
    """Return a log of records of these times, three a segment."""
    place = Place()
    log = place.open(COMPACTED)
    lead(log, *(batch(timestamp=timestamp) for timestamp in timestamps))
    log.set_high_watermark(log.bounds.log_end)
    return place, log


def test_log_is_told_where_it_is_dirty_and_how_much_of_it() -> None:
    place, log = place_of(*[NOW] * 8)
    place.files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 3\n")
    size = log.each_segment[0].size

    found = told(place)

    assert (found.first_dirty, found.end, found.warning) == (3, 6, None)
    assert (found.clean_bytes, found.cleanable_bytes, found.dirty_ratio) == (size, size, 0.5)
    assert (found.is_due, found.due_ms, found.missing_bytes) == (False, None, 1)
    assert [each.is_clean for each in found.segments] == [True, False, False]


def test_checkpoint_that_is_wrong_is_told() -> None:
    place, _ = place_of(NOW)
    place.files.create("/d/cleaner-offset-checkpoint").append(b"0\n1\nt 0 99\n")

    warning = told(place).warning

    assert warning is not None
    assert "t-0 cleaned up to 99, beyond the log's end 1" in warning


def test_segment_that_is_too_young_is_told_when_it_is_old_enough() -> None:
    place, _ = place_of(NOW, NOW, NOW + 7, NOW, NOW, NOW, NOW)

    found = told(place, replace(COMPACTED, min_compaction_lag_ms=1000), now_ms=NOW + 1001)

    first, second, _ = found.segments
    assert (first.holds, first.until_ms) == ((Hold.MIN_COMPACTION_LAG.value,), NOW + 1007)
    assert (second.holds, second.until_ms) == ((Hold.OLDER_SEGMENT.value,), NOW + 1007)
    assert found.due_ms == NOW + 1007


def test_active_segment_is_told_when_it_is_rolled() -> None:
    place, log = place_of(NOW)

    (found,) = told(place, replace(COMPACTED, segment_ms=5000)).segments

    assert found.holds == (Hold.ACTIVE_SEGMENT.value,)
    assert (found.rolls_after_bytes, found.rolls_after_ms) == (230 - log.size, NOW + 5000)


@pytest.mark.parametrize("timestamp", (NOW, -1))
def test_active_segment_without_times_is_rolled_by_its_size(timestamp: int) -> None:
    place, log = place_of(timestamp)
    if timestamp == NOW:
        log.roll()

    active = told(place).segments[-1]

    assert (active.rolls_after_ms, active.until_ms) == (None, None)
    assert active.rolls_after_bytes == 230 - log.each_segment[-1].size


def test_transaction_that_is_not_decided_is_told_with_its_producer() -> None:
    place = Place()
    log = place.open(COMPACTED)
    lead(log, batch(), produced(0, producer=(7, 0), is_transactional=True))
    filled(log, 3)

    found = told(place)

    assert found.undecided == Undecided(producer_id=7, first_offset=1)
    assert found.segments[0].holds == (Hold.LAST_STABLE_OFFSET.value,)
    assert told(place, high_watermark=1).undecided is None


def test_batches_with_a_horizon_are_told() -> None:
    place = Place()
    log = place.open(COMPACTED)
    fields = BatchFields(base_offset=1, delete_horizon_ms=NOW + 5)
    builder = BatchBuilder(fields)
    builder.append(b"key", None, timestamp=NOW)
    log.append_as_follower(bytes(batch()) + bytes(builder.build()), leader_epoch=0)

    assert told(place).horizons is None
    assert told(place, has_horizons=True).horizons == (
        Horizon(
            path=f"{DIRECTORY}/{name(0)}",
            position=len(batch()),
            base_offset=1,
            last_offset=1,
            is_control=False,
            horizon_ms=NOW + 5,
        ),
    )


def written(*, is_large: bool) -> Place:
    """Return a log of one key, of more than is counted unasked or of less."""
    place = Place()
    log = place.open(replace(COMPACTED, segment_bytes=1 << 20))
    for _ in range(2):
        value = bytes(CHEAP_BYTES * 2 // 3 if is_large else 100)
        lead(log, batch(value=value))
        log.roll()
    log.set_high_watermark(log.bounds.log_end)
    return place


def freed(place: Place, *, is_deep: bool = False) -> int | None:
    reader = open_reader(place.files, DIRECTORY)
    details = Details(is_deep=is_deep)
    return outlook(
        place.files, reader, config=COMPACTED, high_watermark=None, now_ms=NOW, details=details
    ).freed_bytes


def test_what_a_pass_frees_is_counted_where_that_is_cheap_or_asked_for() -> None:
    small, large = written(is_large=False), written(is_large=True)

    assert freed(small) == len(batch(value=bytes(100)))
    assert freed(large) is None
    assert freed(large, is_deep=True) == len(batch(value=bytes(CHEAP_BYTES * 2 // 3)))


def test_log_of_which_nothing_may_be_cleaned_frees_nothing() -> None:
    assert freed(place_of(NOW)[0]) == 0


def test_damage_is_told_to_who_asks_for_a_count() -> None:
    place = written(is_large=False)
    harm(place.files, name(0), 90)

    assert freed(place) is None
    with pytest.raises(CleaningFailedError, match="checksum"):
        freed(place, is_deep=True)
