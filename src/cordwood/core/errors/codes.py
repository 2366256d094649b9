"""Mapping of wire codes to error classes (Kafka: `Errors.forCode`).

Code 0 means success. It has no error class, and looking it up is a ValueError.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from cordwood.core.errors import access, bad_records, client, outdated, server
from cordwood.core.errors.tree import KafkaError

_SUCCESS = 0


def _leaves() -> Iterator[type[KafkaError]]:
    """Yield every error class that has a wire code."""
    for module in (access, bad_records, client, outdated, server):
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                yield value


ERRORS_BY_CODE: Mapping[int, type[KafkaError]] = MappingProxyType(
    {leaf.code: leaf for leaf in sorted(_leaves(), key=lambda leaf: leaf.code)}
)
"""Every error class with a wire code, in the order of the codes."""


def error_for_code(code: int) -> type[KafkaError]:
    """Return the class of `code`; UnknownServerError for a code that Kafka 4.3 does not define."""
    if code == _SUCCESS:
        message = "code 0 means success and has no error"
        raise ValueError(message)
    return ERRORS_BY_CODE.get(code, server.UnknownServerError)


def error_from_code(code: int, message: str = "") -> KafkaError:
    """Return an error of the class of `code`; the text names a code that is unknown."""
    if code not in ERRORS_BY_CODE and code != _SUCCESS:
        message = f"error code {code}, unknown to Kafka 4.3: {message}".removesuffix(": ")
    return error_for_code(code)(message)


def error_code_of(error: KafkaError | None) -> int:
    """Return the error code of a response; 0 without an error."""
    return _SUCCESS if error is None else error.code


def error_message_of(error: KafkaError | None) -> str | None:
    """Return the error message of a response; None without an error or without a text."""
    return str(error) or None if error is not None else None
