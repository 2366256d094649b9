"""Tests of the settings of Kerberos and of logins with tokens."""

from cordwood.broker.settings.ignored.authentication import AUTHENTICATION


def test_default_is_kafka_s() -> None:
    settings = {each.name: each for group in AUTHENTICATION for each in group.settings}

    assert settings["sasl.kerberos.kinit.cmd"].default == "/usr/bin/kinit"


def test_every_group_has_a_reason_in_its_docs() -> None:
    for group in AUTHENTICATION:
        assert {each.doc for each in group.settings} == {f"No effect: {group.reason}."}
