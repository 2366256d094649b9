"""Sizes and times as text."""

import pytest

from cordwood.workbench.quantities import size_text, time_text


@pytest.mark.parametrize(
    ("size", "text"),
    (
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (1536, "1.5 KiB"),
        ((1 << 20) - 1, "1.0 MiB"),
        (3 << 40, "3.0 TiB"),
        (1 << 60, "1048576.0 TiB"),
    ),
)
def test_size_has_a_binary_unit(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("timestamp_ms", "text"),
    (
        (-1, "-"),
        (0, "1970-01-01T00:00:00Z"),
        (1_700_000_000_999, "2023-11-14T22:13:20Z"),
        (253_402_300_800_000, "253402300800000 ms"),
    ),
)
def test_time_is_in_utc(timestamp_ms: int, text: str) -> None:
    assert time_text(timestamp_ms) == text
