"""Tests of the settings of one group, and of the broker's bounds."""

import pytest

from cordwood.broker.settings.catalogue import BROKER_SETTINGS
from cordwood.broker.settings.group_configs import (
    GROUP_CONFIGS,
    bounds_of,
    ensure_within_bounds,
    numbers_of,
)
from cordwood.core.errors import InvalidConfigError, SettingError
from cordwood.core.settings import SettingSource

#: Kafka's table: the name, the lowest and the highest value at a broker with defaults.
BOUNDS = (
    ("consumer.session.timeout.ms", 45_000, 60_000),
    ("consumer.heartbeat.interval.ms", 5_000, 15_000),
    ("consumer.assignment.interval.ms", 0, 15_000),
    ("share.session.timeout.ms", 45_000, 60_000),
    ("share.heartbeat.interval.ms", 5_000, 15_000),
    ("share.record.lock.duration.ms", 15_000, 60_000),
    ("share.delivery.count.limit", 2, 10),
    ("share.partition.max.record.locks", 100, 4_000),
    ("share.assignment.interval.ms", 0, 15_000),
    ("streams.session.timeout.ms", 45_000, 60_000),
    ("streams.heartbeat.interval.ms", 5_000, 15_000),
    ("streams.num.standby.replicas", 0, 2),
    ("streams.assignment.interval.ms", 0, 15_000),
)


def check(texts: dict[str, str], **of_broker: int) -> None:
    given = {name.replace("_", "."): str(value) for name, value in of_broker.items()}
    sources = [SettingSource("group", texts), SettingSource("file", given)]
    defaults = BROKER_SETTINGS.resolve([SettingSource("file", given)])

    def number_of(name: str) -> int:
        value = defaults[name].value
        assert isinstance(value, int)
        return value

    ensure_within_bounds(GROUP_CONFIGS.resolve(sources), number_of)


def test_group_has_the_seventeen_settings_of_kafka() -> None:
    assert len(GROUP_CONFIGS) == 17
    assert {name.partition(".")[0] for each in GROUP_CONFIGS for name in each.names()} == {
        "consumer",
        "share",
        "streams",
        "group",
    }


def test_default_of_a_group_is_the_broker_s_default() -> None:
    for setting in GROUP_CONFIGS:
        for synonym in setting.synonyms:
            assert BROKER_SETTINGS[synonym.name].default == setting.default


@pytest.mark.parametrize(("name", "lowest", "highest"), BOUNDS)
def test_value_is_accepted_within_the_broker_s_bounds_alone(
    name: str, lowest: int, highest: int
) -> None:
    _, above = bounds_of(name)
    is_text_checked = (GROUP_CONFIGS[name].at_least or 0) >= lowest

    check({name: str(lowest)})
    check({name: str(highest)})
    with pytest.raises(InvalidConfigError, match=f"^{name} must be less than or equal to {above}$"):
        check({name: str(highest + 1)})
    if not is_text_checked:
        with pytest.raises(InvalidConfigError, match=f"^{name} must be greater than or equal to"):
            check({name: str(lowest - 1)})


def test_session_timeout_must_exceed_the_heartbeat_interval_of_the_broker() -> None:
    bounds = {
        "group_consumer_max_heartbeat_interval_ms": 60_000,
        "group_consumer_heartbeat_interval_ms": 46_000,
    }

    check({"consumer.session.timeout.ms": "46001"}, **bounds)
    words = r"^consumer\.session\.timeout\.ms must be greater than consumer\.heartbeat"
    with pytest.raises(InvalidConfigError, match=words):
        check({"consumer.session.timeout.ms": "46000"}, **bounds)


def test_broker_s_own_assignment_interval_is_not_compared_with_its_bounds() -> None:
    check({}, group_consumer_assignment_interval_ms=20_000)


@pytest.mark.parametrize(
    "text",
    (
        *("earliest", "latest", "by_duration:PT1H", "by_duration:P1D", "by_duration:pt1.5s"),
        *("by_duration:-PT-1H", "by_duration:P2DT3H4M", "by_duration:PT2H-1M", "by_duration:PT0S"),
    ),
)
def test_reset_of_a_share_group_is_an_end_or_a_duration(text: str) -> None:
    assert GROUP_CONFIGS["share.auto.offset.reset"].parse(text) == text


@pytest.mark.parametrize(
    "text",
    (
        *("", "zz", "EARLIEST", "none", "by_duration:", "by_duration:1H", "BY_DURATION:PT1H"),
        *(
            "by_duration:-PT1H",
            "by_duration:P",
            "by_duration:PT",
            "by_duration:P1DT",
            "by_duration",
        ),
    ),
)
def test_other_reset_is_rejected_with_kafka_s_message(text: str) -> None:
    with pytest.raises(SettingError) as caught:
        GROUP_CONFIGS["share.auto.offset.reset"].parse(text)

    assert caught.value.kafka_message == (
        f"Invalid value {text} for configuration share.auto.offset.reset: Invalid value `{text}`"
        " for configuration share.auto.offset.reset. The value must be either 'earliest', 'latest'"
        " or of the format 'by_duration:<PnDTnHnMn.nS>'."
    )


def test_numbers_are_those_that_the_group_sets() -> None:
    texts = {"consumer.session.timeout.ms": " 50000 ", "share.isolation.level": "read_committed"}

    found = numbers_of(GROUP_CONFIGS.resolve([SettingSource("group", texts)]))

    assert found == {"consumer.session.timeout.ms": 50_000}
