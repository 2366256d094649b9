"""Numbers with their nouns, for the sentences of reports."""


def counted(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless it is 1."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
