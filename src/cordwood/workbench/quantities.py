"""Sizes and times as text for people: `1.5 MiB`, `2026-11-28T01:44:52Z`."""

from datetime import UTC, datetime
from typing import Final

_UNITS: Final = ("KiB", "MiB", "GiB", "TiB")
_FACTOR: Final = 1024
#: From here on a number of two digits and a unit would be rounded to 1,024.
_ROUNDS_UP: Final = 1023.95
_LATEST_MS: Final = 253_402_300_799_999  # the year 9999


def size_text(size: int) -> str:
    """Return a number of bytes with a binary unit and one decimal."""
    if size < _FACTOR:
        return f"{size} B"
    power, amount = 0, size / _FACTOR
    while amount >= _ROUNDS_UP and power < len(_UNITS) - 1:
        power, amount = power + 1, amount / _FACTOR
    return f"{amount:.1f} {_UNITS[power]}"


def time_text(timestamp_ms: int) -> str:
    """Return a time in UTC with seconds; `-` for none, a number after the year 9999."""
    if timestamp_ms < 0:
        return "-"
    if timestamp_ms > _LATEST_MS:
        return f"{timestamp_ms} ms"
    return datetime.fromtimestamp(timestamp_ms // 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
