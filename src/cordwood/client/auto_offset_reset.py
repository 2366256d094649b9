"""Values of `auto.offset.reset` (Java: `AutoOffsetResetStrategy`, KIP-1106).

earliest, latest          the log start, the end of the log
none                      an error of `poll`
by_duration:PT1H30M       the first record of the last 90 minutes; a duration of ISO 8601
"""

import re
from typing import Final

NAMED: Final = ("earliest", "latest", "none")
BY_DURATION: Final = "by_duration:"

_DURATION: Final = re.compile(
    r"P(?:(?P<days>\d+)D)?"
    r"(?:T(?=\d)(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d{1,9})?)S)?)?"
)
_UNITS_MS: Final = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1_000}


def duration_ms(reset: str) -> int | None:
    """Return the duration of `by_duration`, None for another or an invalid value."""
    found = _DURATION.fullmatch(reset.removeprefix(BY_DURATION))
    if not reset.startswith(BY_DURATION) or found is None:
        return None
    given = {unit: text for unit, text in found.groupdict().items() if text is not None}
    return (
        round(sum(float(text) * _UNITS_MS[unit] for unit, text in given.items())) if given else None
    )


def problem_of(value: object) -> str:
    """Return the problem of a value of the setting, empty if it is valid."""
    if value in NAMED or (isinstance(value, str) and duration_ms(value) is not None):
        return ""
    return f"is none of {', '.join(NAMED)}, {BY_DURATION}<ISO 8601 duration, such as PT1H>"
