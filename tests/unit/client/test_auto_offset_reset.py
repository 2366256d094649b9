"""Values of `auto.offset.reset`, with the durations of Kafka 4 (K-D7)."""

import pytest

from cordwood.client.auto_offset_reset import duration_ms
from cordwood.client.settings import ConsumerSettings
from cordwood.core.errors import SettingError


@pytest.mark.parametrize(
    ("text", "ms"),
    (
        ("PT0S", 0),
        ("PT1H30M", 5_400_000),
        ("P2DT3H4M5.678S", 183_845_678),
        ("P1D", 86_400_000),
        ("PT36H", 129_600_000),
    ),
)
def test_duration_is_read_as_in_iso_8601(text: str, ms: int) -> None:
    assert duration_ms(f"by_duration:{text}") == ms


@pytest.mark.parametrize(
    "reset", ("by_duration:", "by_duration:P", "by_duration:PT", "by_duration:-PT1H", "newest", "")
)
def test_other_value_is_rejected_with_the_known_ones(reset: str) -> None:
    with pytest.raises(SettingError, match="earliest, latest, none, by_duration"):
        ConsumerSettings(bootstrap_servers="b:1", auto_offset_reset=reset)


@pytest.mark.parametrize("reset", ("earliest", "latest", "none", "by_duration:PT1H"))
def test_known_value_is_accepted(reset: str) -> None:
    settings = ConsumerSettings(bootstrap_servers="b:1", auto_offset_reset=reset)

    assert settings.auto_offset_reset == reset
