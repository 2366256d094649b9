"""Generator of docs/errors.md from the classes of errors; a test compares the page with them.

python scripts/errors_page.py
"""

import re
from collections.abc import Iterator
from pathlib import Path

from cordwood import errors
from cordwood.errors import (
    AccessError,
    BadRecordsError,
    ClientFaultError,
    KafkaError,
    OutdatedError,
    ServerFaultError,
)

PAGE = Path(__file__).resolve().parents[1] / "docs" / "errors.md"

INTRODUCTION = """\
# Errors
This page is written by `scripts/errors_page.py` from the classes of `cordwood.errors`.

```python
import cordwood
from cordwood.errors import CordwoodError, UnknownTopicOrPartitionError

with cordwood.Admin("127.0.0.1:9092") as admin:
    try:
        admin.delete_topic("ordres")
    except UnknownTopicOrPartitionError as error:
        print(error.code, error)
    except CordwoodError as error:
        print("another problem:", error)
```

Every error is a `CordwoodError`, and its text states what is wrong and what to do. A `KafkaError`
has the error code of Kafka's protocol as `code`, and `retriable` as in Kafka. The clients retry a
retriable error until `default_api_timeout_ms`, or `delivery_timeout_ms` for a record, and raise it
afterwards. `cordwood.errors.error_for_code(3)` returns the class of a code.
"""

SECTIONS: dict[str, type[Exception]] = {
    "Wrong requests": ClientFaultError,
    "Missing rights": AccessError,
    "Invalid records": BadRecordsError,
    "Outdated metadata, members and producers": OutdatedError,
    "Brokers that cannot serve": ServerFaultError,
}
#: Kafka's names that do not follow from the names of the classes.
NAMES = {
    "UnknownServerError": "UNKNOWN_SERVER_ERROR",
    "NetworkError": "NETWORK_EXCEPTION",
    "InvalidTopicError": "INVALID_TOPIC_EXCEPTION",
    "KafkaStorageError": "KAFKA_STORAGE_ERROR",
    "FetchSessionTopicIdError": "FETCH_SESSION_TOPIC_ID_ERROR",
}
_WORD = re.compile(r"(?<=[a-z])(?=[A-Z])")
_PARAGRAPHS = re.compile(r"\n\s*\n")
_REMEDY = "Remedy: "


def page() -> str:
    """Return the whole page."""
    lines = [INTRODUCTION]
    leaves = [each for each in _classes() if issubclass(each, KafkaError) and "code" in vars(each)]
    leaves = [each for each in leaves if each is not KafkaError]
    for title, group in SECTIONS.items():
        lines += _section(title, group, [each for each in leaves if _group_of(each) is group])
    lines += _others([each for each in _classes() if not issubclass(each, KafkaError)])
    return "\n".join(lines) + "\n"


def _classes() -> list[type[Exception]]:
    """Return the classes of `cordwood.errors`, those with a code in its order."""
    found = [getattr(errors, name) for name in errors.__all__]
    classes = [each for each in found if isinstance(each, type) and issubclass(each, Exception)]
    return sorted(classes, key=lambda each: (getattr(each, "code", 0), each.__name__))


def _group_of(leaf: type[Exception]) -> type[Exception]:
    return next(each for each in leaf.__mro__ if each in SECTIONS.values())


def _section(title: str, group: type[Exception], leaves: list[type[Exception]]) -> Iterator[str]:
    yield f"## {title}"
    yield f"Base class `{group.__name__}`: {_short(meaning_of(group))}"
    yield ""
    yield "| error | Kafka's code | retriable | meaning | remedy |"
    yield "|---|---|---|---|---|"
    for each in leaves:
        code = f"{getattr(each, 'code', 0)} {kafka_name_of(each)}"
        retriable = "yes" if getattr(each, "retriable", False) else "no"
        yield _row(each, code, retriable)
    yield ""


def _others(classes: list[type[Exception]]) -> Iterator[str]:
    yield "## Errors without a code"
    yield "| error | meaning | remedy |"
    yield "|---|---|---|"
    for each in classes:
        yield _row(each)


def _row(error: type[Exception], *facts: str) -> str:
    cells = [f"`{error.__name__}`", *facts, meaning_of(error), remedy_of(error)]
    return f"| {' | '.join(cells)} |"


def kafka_name_of(error: type[Exception]) -> str:
    """Return Kafka's name of an error code."""
    name = error.__name__
    return NAMES.get(name) or _WORD.sub("_", name.removesuffix("Error")).upper()


def meaning_of(error: type[Exception]) -> str:
    """Return the first paragraph of a class's docstring."""
    return _paragraphs(error)[0]


def remedy_of(error: type[Exception]) -> str:
    """Return the remedy in the docstring of a class, or of the nearest base class with one."""
    for each in error.__mro__:
        for paragraph in _paragraphs(each):
            if paragraph.startswith(_REMEDY):
                text = paragraph.removeprefix(_REMEDY)
                return text[0].upper() + text[1:]
    raise AssertionError(f"{error.__name__} has no remedy in its docstring")


def _paragraphs(error: type) -> list[str]:
    parts = _PARAGRAPHS.split((error.__doc__ or "").strip())
    return [" ".join(each.split()) for each in parts]


def _short(sentence: str) -> str:
    return sentence[0].lower() + sentence[1:]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
