"""Which keys a broker knows, and what declares them."""

import pytest

from cordwood.broker.settings.catalogue import (
    BROKER_SETTINGS,
    IN_USE_ALREADY,
    TABLES,
    TO_COME,
    declared,
    refuse_unknown,
    why_without_effect,
)
from cordwood.broker.settings.ignored import why_ignored
from cordwood.core.errors import SettingError
from cordwood.core.settings import text_of


def test_every_default_is_a_value_of_its_setting() -> None:
    for setting in BROKER_SETTINGS:
        text = text_of(setting.default)

        assert text is None or setting.parse(text) == setting.default, setting.name


def test_nothing_is_both_declared_and_ignored() -> None:
    both = [each.name for each in BROKER_SETTINGS if why_ignored(each.name)]

    assert both == []


def test_every_setting_is_told_of_in_a_sentence() -> None:
    strange = [each.name for each in BROKER_SETTINGS if not each.doc.endswith(".")]

    assert strange == []
    assert sum(len(table) for table in TABLES.values()) == len(BROKER_SETTINGS)


def test_synonym_declares_what_its_setting_does() -> None:
    assert declared("broker.id") is BROKER_SETTINGS["node.id"]
    assert declared("nobody.knows") is None


def test_listener_s_key_is_a_setting_of_its_own() -> None:
    setting = declared("listener.name.in.ssl.client.auth")

    assert setting is not None
    assert [*setting.names()] == ["listener.name.in.ssl.client.auth", "ssl.client.auth"]
    assert declared("listener.name.in.num.partitions") is None
    assert declared("listener.name.in.nobody.knows") is None


def test_unknown_key_is_refused_with_the_nearest() -> None:
    refuse_unknown(["num.partitions", "process.roles", "listener.name.a.ssl.client.auth"])

    with pytest.raises(SettingError, match=r"did you mean num\.partitions"):
        refuse_unknown(["num.partition"])


@pytest.mark.parametrize(
    ("key", "reason"),
    (
        ("num.partitions", None),
        ("offsets.topic.num.partitions", None),
        ("transaction.max.timeout.ms", None),
        ("group.max.size", "what it speaks of is still to come"),
        ("listener.name.in.sasl.enabled.mechanisms", "what it speaks of is still to come"),
        ("zookeeper.connect", "one node keeps its own metadata"),
    ),
)
def test_key_without_effect_has_a_reason(key: str, reason: str | None) -> None:
    assert why_without_effect(key) == reason


def test_in_use_already_is_only_what_would_be_to_come() -> None:
    to_come = {each.name for title in TO_COME for each in TABLES[title]}

    assert to_come >= IN_USE_ALREADY
