"""Explanation of retention from the files of a log."""

import json

from cordwood.core.settings import SettingSource
from cordwood.storage.topic_settings import TOPIC_SETTINGS, config_from
from cordwood.workbench.explain.explanation import Explanation, explain
from cordwood.workbench.topic_settings_lookup import FoundSettings
from tests.unit.storage.log_samples import DIRECTORY, NOW, LogHarness, batch, lead
from tests.unit.storage.reader_samples import THREES, put


def settings(**texts: str) -> FoundSettings:
    source = SettingSource("here", {key.replace("_", "."): text for key, text in texts.items()})
    resolved = TOPIC_SETTINGS.resolve([source])
    return FoundSettings(config_from(resolved), resolved, ("here",))


def place_of(*timestamps: int) -> LogHarness:
    """Return a log of records with these timestamps, three in a segment."""
    place = LogHarness()
    log = place.open(THREES)
    lead(log, *(batch(timestamp=timestamp) for timestamp in timestamps))
    log.set_high_watermark(log.bounds.log_end)
    log.close()
    return place


def explained(place: LogHarness, *, now_ms: int = NOW, **texts: str) -> Explanation:
    return explain(place.files, DIRECTORY, found=settings(**texts), now_ms=now_ms)


def test_old_segment_is_deleted_and_the_next_has_a_time() -> None:
    place = place_of(*(NOW + at for at in range(6)))

    explanation = explained(place, now_ms=NOW + 13, retention_ms="10")

    first, second = explanation.segments
    assert (first.goes, first.base_offset, first.end_offset) == ("older than retention.ms", 0, 3)
    assert (second.goes, second.until_ms) == (None, NOW + 5 + 10 + 1)
    assert (explanation.log_start, explanation.new_log_start, explanation.log_end) == (0, 3, 6)


def test_kept_segments_have_reasons() -> None:
    place = place_of(NOW, NOW, NOW, NOW)

    assert explained(place, cleanup_policy="compact").segments[0].holds == (
        "cleanup.policy does not delete",
    )
    assert (
        explained(place, retention_ms="-1", retention_bytes="9999").segments[1].until_bytes
        is not None
    )


def test_segment_above_the_checkpointed_high_watermark_is_retained() -> None:
    place = place_of(NOW, NOW, NOW, NOW)
    file = place.files.create("/d/replication-offset-checkpoint")
    file.append(b"0\n1\nt 0 2\n")

    explanation = explained(place, now_ms=NOW + 100, retention_ms="10")

    assert explanation.high_watermark == 2
    assert explanation.segments[0].holds[0] == "not wholly below the high watermark"


def test_log_that_is_deleted_entirely_rolls_first() -> None:
    assert explained(place_of(NOW), now_ms=NOW + 100, retention_ms="10").is_rolling


def test_segment_without_times_has_that_of_its_file() -> None:
    place = place_of(-1)
    put(place.files, "00000000000000000000.timeindex", b"")
    place.files.set_modified(
        f"{DIRECTORY}/00000000000000000000.log", type(place.clock.now_ms())(77)
    )

    assert explained(place).segments[0].largest_timestamp == 77


def test_settings_have_sources_and_the_explanation_is_json() -> None:
    explanation = explained(place_of(NOW), cleanup_policy="compact,delete")

    said = {each.name: (each.value, each.source) for each in explanation.settings}
    assert said["cleanup.policy"] == ("compact,delete", "here")
    assert said["segment.bytes"][1] == "default"
    assert json.loads(explanation.to_json())["segments"][0]["base_offset"] == 0
