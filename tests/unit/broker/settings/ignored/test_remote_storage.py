"""Tests of the settings of tiered storage."""

from cordwood.broker.settings.ignored.remote_storage import REMOTE_STORAGE


def test_default_is_kafka_s() -> None:
    settings = {each.name: each for group in REMOTE_STORAGE for each in group.settings}

    assert settings["remote.log.metadata.manager.impl.prefix"].default == "rlmm.config."


def test_every_group_has_a_reason_in_its_docs() -> None:
    for group in REMOTE_STORAGE:
        assert {each.doc for each in group.settings} == {f"No effect: {group.reason}."}
