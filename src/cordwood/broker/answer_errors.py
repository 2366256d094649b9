"""An error as answers tell it: a code, 0 where there is no error, and words where it has some."""

from cordwood.core.errors import KafkaError


def code_of(error: KafkaError | None) -> int:
    """Return what stands in the place of an error's code."""
    return 0 if error is None else error.code


def words_of(error: KafkaError | None) -> str | None:
    """Return what stands in the place of an error's message."""
    return str(error) or None if error is not None else None
