"""Tests of the settings of share and streams groups."""

from cordwood.broker.settings.ignored.group_types import GROUP_TYPES


def test_default_is_kafka_s() -> None:
    settings = {each.name: each for group in GROUP_TYPES for each in group.settings}

    assert settings["group.share.record.lock.duration.ms"].default == 30_000


def test_every_group_has_a_reason_in_its_docs() -> None:
    for group in GROUP_TYPES:
        assert {each.doc for each in group.settings} == {f"No effect: {group.reason}."}
