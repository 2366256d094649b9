"""Client settings: keyword options and Kafka's names."""

from collections.abc import Sequence
from dataclasses import fields
from typing import get_type_hints

import pytest

from cordwood.client.settings import (
    ClientOptions,
    ClientSettings,
    ConsumerOptions,
    ConsumerSettings,
    ProducerOptions,
    ProducerSettings,
    options_of,
    settings_of,
    shared_options,
)
from cordwood.core.errors import SettingError

KINDS = [
    (ClientSettings, ClientOptions),
    (ProducerSettings, ProducerOptions),
    (ConsumerSettings, ConsumerOptions),
]


@pytest.mark.parametrize(("settings", "options"), KINDS)
def test_options_repeat_the_settings(settings: type[ClientSettings], options: type) -> None:
    assert get_type_hints(options) == get_type_hints(settings)
    assert {each.name for each in fields(settings)} == set(get_type_hints(options))


@pytest.mark.parametrize(
    ("misspelt", "response"),
    (
        ("linger", r"'linger'; did you mean linger_ms\?$"),
        ("serializer", r"'serializer'; did you mean serializers\?$"),
        ("xyz", "'xyz'$"),
    ),
)
def test_unknown_keyword_is_rejected_with_the_nearest_name(misspelt: str, response: str) -> None:
    with pytest.raises(TypeError, match=response):
        settings_of(ProducerSettings, {misspelt: 1}, other_options=("serializers",))


def test_settings_with_kafkas_names_equal_those_with_keywords() -> None:
    config = {"bootstrap.servers": "a:1,b:2", "linger.ms": 20, "enable.idempotence": "false"}

    given = ProducerSettings(**options_of(ProducerSettings, config))  # type: ignore[arg-type]  # by name

    assert given == ProducerSettings(
        bootstrap_servers=("a:1", "b:2"), linger_ms=20, enable_idempotence=False
    )


def test_options_of_one_client_kind_are_left_out_for_others() -> None:
    response = {"bootstrap.servers": "a:1", "request.timeout.ms": "5"}

    assert shared_options({**response, "acks": "all", "fetch.min.bytes": "7"}) == response


def test_unknown_name_is_rejected_with_the_nearest_name() -> None:
    with pytest.raises(SettingError, match=r"did you mean linger\.ms"):
        options_of(ProducerSettings, {"linger.sm": 1})


def test_level_has_the_names_of_its_codecs() -> None:
    config = {"bootstrap.servers": "a:1", "compression.zstd.level": "9"}

    assert options_of(ProducerSettings, config)["compression_level"] == 9


@pytest.mark.parametrize(
    ("option", "value"),
    (
        ("linger_ms", -1),
        ("acks", "2"),
        ("compression_type", "rar"),
        ("max_in_flight_requests_per_connection", 6),
        ("acks", "1"),
        ("delivery_timeout_ms", 5),
        ("client_id", None),
    ),
)
def test_option_out_of_range_is_rejected(option: str, value: object) -> None:
    with pytest.raises(SettingError):
        ProducerSettings(bootstrap_servers=("a:1",), **{option: value})  # type: ignore[arg-type]  # wrong on purpose


def test_acks_without_idempotence_are_free() -> None:
    given = ProducerSettings(bootstrap_servers=("a:1",), acks="0", enable_idempotence=False)

    assert given.acks == "0"


def test_settings_require_a_broker() -> None:
    with pytest.raises(SettingError, match="host:port"):
        ConsumerSettings()


@pytest.mark.parametrize("servers", (" a:1, b:2,", ["a:1", "b:2"], ("a:1", "b:2")))
def test_servers_are_a_list_or_a_comma_separated_text(servers: str | Sequence[str]) -> None:
    assert ClientSettings(bootstrap_servers=servers).bootstrap_servers == ("a:1", "b:2")


def test_group_settings_have_the_names_and_defaults_of_kafka() -> None:
    settings = settings_of(ConsumerSettings, {"bootstrap_servers": "h:1"}, other_options=())

    assert settings.group_id is None
    assert settings.partition_assignment_strategy == ("range", "cooperative-sticky")
    assert (settings.session_timeout_ms, settings.heartbeat_interval_ms) == (45_000, 3_000)
    assert (settings.max_poll_interval_ms, settings.auto_commit_interval_ms) == (300_000, 5_000)
    assert settings.enable_auto_commit


@pytest.mark.parametrize(
    ("options", "problem"),
    (
        ({"group_id": ""}, "group.id is empty"),
        ({"group_protocol": "streams"}, "group.protocol"),
        ({"heartbeat_interval_ms": 50_000}, "below session.timeout.ms=45000"),
    ),
)
def test_invalid_group_setting_is_rejected(options: dict[str, object], problem: str) -> None:
    with pytest.raises(SettingError, match=problem):
        settings_of(ConsumerSettings, {"bootstrap_servers": "h:1", **options}, other_options=())
