"""Counts in messages: `1 record`, `2 records`, `12,345 records`."""


def counted(number: int, noun: str, *, plural: str | None = None) -> str:
    """Return a number with its noun, which is in the singular after 1."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
