"""Tests of the table of all broker settings and of their keys."""

import pytest

from cordwood.broker.settings.catalogue import (
    BROKER_SETTINGS,
    TABLES,
    ensure_known,
    find_no_effect_reason,
    find_setting,
)
from cordwood.broker.settings.ignored.ignored_catalogue import (
    IGNORED_SETTINGS,
    find_ignore_reason,
)
from cordwood.core.errors import SettingError
from cordwood.core.settings import text_of


def test_every_default_is_a_value_of_its_setting() -> None:
    for setting in BROKER_SETTINGS:
        text = text_of(setting.default)

        assert text is None or setting.parse(text) == setting.default, setting.name


def test_no_setting_is_both_served_and_ignored() -> None:
    served = [each.name for table in TABLES.values() for each in table]

    assert [name for name in served if find_ignore_reason(name)] == []


def test_every_setting_has_a_doc_of_whole_sentences() -> None:
    strange = [each.name for each in BROKER_SETTINGS if not each.doc.endswith(".")]

    assert strange == []
    tables = (*TABLES.values(), IGNORED_SETTINGS)
    assert sum(len(table) for table in tables) == len(BROKER_SETTINGS)


def test_synonym_finds_its_setting() -> None:
    assert find_setting("broker.id") is BROKER_SETTINGS["node.id"]
    assert find_setting("no.such") is None


def test_key_of_a_listener_is_a_setting_of_its_own() -> None:
    setting = find_setting("listener.name.in.ssl.client.auth")

    assert setting is not None
    assert [*setting.names()] == ["listener.name.in.ssl.client.auth", "ssl.client.auth"]
    assert find_setting("listener.name.in.num.partitions") is None
    assert find_setting("listener.name.in.no.such") is None


def test_error_for_an_unknown_key_names_the_most_similar_one() -> None:
    ensure_known(["num.partitions", "process.roles", "listener.name.a.ssl.client.auth"])

    with pytest.raises(SettingError, match=r"did you mean num\.partitions"):
        ensure_known(["num.partition"])


@pytest.mark.parametrize(
    ("key", "reason"),
    (
        ("num.partitions", None),
        ("offsets.topic.num.partitions", None),
        ("transaction.max.timeout.ms", None),
        ("group.max.size", None),
        ("listener.name.in.sasl.enabled.mechanisms", "its feature is not implemented yet"),
        ("quota.window.num", "its feature is not implemented yet"),
        ("zookeeper.ssl.protocol", "ZooKeeper is used without TLS and without access control"),
        ("num.io.threads", "one thread handles requests, and a pool runs blocking calls"),
        ("listener.name.in.ssl.provider", "Java classes cannot be loaded"),
    ),
)
def test_key_without_effect_has_a_reason(key: str, reason: str | None) -> None:
    assert find_no_effect_reason(key) == reason
