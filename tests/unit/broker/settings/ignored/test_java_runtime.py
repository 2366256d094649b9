"""Tests of the settings of the Java runtime."""

from cordwood.broker.settings.ignored.java_runtime import JAVA_RUNTIME


def test_default_is_kafka_s() -> None:
    settings = {each.name: each for group in JAVA_RUNTIME for each in group.settings}

    assert settings["num.io.threads"].default == 8


def test_every_group_has_a_reason_in_its_docs() -> None:
    for group in JAVA_RUNTIME:
        assert {each.doc for each in group.settings} == {f"No effect: {group.reason}."}
