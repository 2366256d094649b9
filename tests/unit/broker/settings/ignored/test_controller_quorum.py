"""Tests of the settings of the controller quorum."""

from cordwood.broker.settings.ignored.controller_quorum import CONTROLLER_QUORUM


def test_default_is_kafka_s() -> None:
    settings = {each.name: each for group in CONTROLLER_QUORUM for each in group.settings}

    assert settings["controller.quorum.fetch.timeout.ms"].default == 2000


def test_every_group_has_a_reason_in_its_docs() -> None:
    for group in CONTROLLER_QUORUM:
        assert {each.doc for each in group.settings} == {f"No effect: {group.reason}."}
