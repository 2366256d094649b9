"""Counts in messages: `1 record`, `12,345 records`, `orders-0, orders-1, orders-2 and 4 more`."""

from collections.abc import Sequence


def counted(number: int, noun: str, *, plural: str | None = None) -> str:
    """Return a number with its noun, which is in the singular after 1."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def offsets_of_log(log_start: int, log_end: int) -> str:
    """Return the range of a log's offsets as text; an empty log has only its next offset."""
    if log_start == log_end:
        return f"no records, next offset {log_end}"
    return f"offsets {log_start} to {log_end - 1}"


def first_names(names: Sequence[str], *, shown: int = 3) -> str:
    """Return the first names as text, and the number of further ones."""
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more:,} more" if more > 0 else "")
