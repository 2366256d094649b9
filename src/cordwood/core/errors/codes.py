"""From a code on the wire to the leaf that stands for it.

Code 0 means that nothing went wrong, so it has no leaf and asking for one is a mistake.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from cordwood.core.errors import access, bad_records, client, outdated, server
from cordwood.core.errors.tree import KafkaError

_SUCCESS = 0


def _leaves() -> Iterator[type[KafkaError]]:
    """Yield every class declared in the modules of leaves."""
    for module in (access, bad_records, client, outdated, server):
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == module.__name__:
                yield value


ERRORS_BY_CODE: Mapping[int, type[KafkaError]] = MappingProxyType(
    {leaf.code: leaf for leaf in sorted(_leaves(), key=lambda leaf: leaf.code)}
)
"""Every leaf by its code, in the order of the codes."""


def error_for_code(code: int) -> type[KafkaError]:
    """Return the leaf of `code`; a code that Kafka 4.3 does not know gives UnknownServerError."""
    if code == _SUCCESS:
        message = "code 0 means success and has no error"
        raise ValueError(message)
    return ERRORS_BY_CODE.get(code, server.UnknownServerError)


def error_from_code(code: int, message: str = "") -> KafkaError:
    """Return an error of the leaf of `code`; the text of an unknown code begins with its number."""
    if code not in ERRORS_BY_CODE and code != _SUCCESS:
        message = f"error code {code}, unknown to Kafka 4.3: {message}".removesuffix(": ")
    return error_for_code(code)(message)
