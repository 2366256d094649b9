"""Inner classes of the error tree; the neighbouring modules hold the leaves with wire codes.

An error carries the facts that a program needs (a code, a position, a key) as attributes, and the
same facts in its text. All of them survive pickling, because errors cross process boundaries.
"""

from typing import ClassVar


class CordwoodError(Exception):
    """Root of every error that this package raises on purpose.

    Remedy: do what the text of the error states.
    """

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild the error without `__init__`, because pickle does not pass keywords."""
        return _restore, (type(self), self.args), self.__dict__


class BytesError(CordwoodError, ValueError):
    """A primitive that does not fit its field, or invalid bytes.

    Remedy: check the bytes: they are cut, or of another kind.
    """

    def __init__(self, what: str, *, position: int, expected: int | str, found: int | str) -> None:
        super().__init__(what)
        self.what = what
        self.position = position
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        """Return one sentence with the position, the expected and the found value."""
        return (
            f"{self.what} at position {self.position}: expected {self.expected}, found {self.found}"
        )


class SettingError(CordwoodError, ValueError):
    """A setting is unknown or has an unusable value; the text contains the remedy.

    `kafka_message` is the problem in Kafka's own words, for Kafka's clients.
    """

    def __init__(self, problem: str, *, key: str, remedy: str, kafka_message: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.key = key
        self.remedy = remedy
        self.kafka_message = kafka_message or problem

    def __str__(self) -> str:
        """Return the problem, then the remedy."""
        return f"{self.problem}; {self.remedy}"


class DamagedFileError(CordwoodError):
    """A file next to the records (index, snapshot, checkpoint, properties) is damaged.

    `position` is a byte offset, or a line number in a text file. The text contains the remedy.
    """

    def __init__(
        self,
        what: str,
        *,
        path: str,
        remedy: str,
        position: int | None = None,
        expected: int | str | None = None,
        found: int | str | None = None,
    ) -> None:
        super().__init__(what)
        self.what = what
        self.path = path
        self.remedy = remedy
        self.position = position
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        """Return the file, the problem, the known details and the remedy."""
        known = {"position": self.position, "expected": self.expected, "found": self.found}
        details = ", ".join(f"{name} {value}" for name, value in known.items() if value is not None)
        place = f" ({details})" if details else ""
        return f"{self.path}: {self.what}{place}; {self.remedy}"


class PlaceError(CordwoodError):
    """The contents of a path cannot be used as they are; the text contains the remedy."""

    def __init__(self, problem: str, *, path: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the path, the problem, then the remedy."""
        return f"{self.path}: {self.problem}; {self.remedy}"


class LogDirectoryError(PlaceError):
    """A log directory is locked, foreign, or contradicts another one."""


class TableError(PlaceError):
    """A table outside of the log cannot take the offered rows, or is not the expected table."""


class KernelLibraryError(PlaceError):
    """A library of kernels was cut, or was built from other sources.

    Remedy: install Cordwood again, or run `make kernels` in a clone.
    """


class StartInterruptedError(CordwoodError):
    """A signal has ended the process while its broker started.

    Remedy: start the broker again.
    """


class ListenError(CordwoodError):
    """A listener address cannot be bound: it is in use, or not an address of this machine.

    `key` is the setting that gave the address.

    Remedy: stop the other program, or listen on another address.
    """

    def __init__(self, problem: str, *, key: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.key = key
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the problem, then the remedy."""
        return f"{self.problem}; {self.remedy}"


class SchemaRegistryError(CordwoodError):
    """A schema registry that does not answer, or answers with an error; the text has a remedy."""


class SparkError(CordwoodError):
    """Spark is missing or has failed; the text contains the remedy."""

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the problem, then the remedy."""
        return f"{self.problem}; {self.remedy}"


class MetadataConflictError(CordwoodError):
    """A metadata change is not possible: a node exists, is missing, or has another version."""

    def __init__(self, problem: str, *, path: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        """Return the node's path, then the problem."""
        return f"{self.path}: {self.problem}"


class KafkaError(CordwoodError):
    """An error with a wire code; `retriable` states whether the same request may succeed later.

    Remedy: see the text of the error, and the log of the broker.
    """

    code: ClassVar[int] = -1
    retriable: ClassVar[bool] = False

    def __init__(self, message: str = "") -> None:
        super().__init__(message)


class ClientFaultError(KafkaError):
    """The request is wrong and has to change.

    Remedy: change the request; the text of the error states what the broker rejected.
    """


class AccessError(ClientFaultError):
    """The rights, the credentials or the security settings have to change.

    Remedy: grant the right to the principal, or use other credentials or another listener.
    """


class OutdatedError(KafkaError):
    """The client's metadata, group state or own epoch is outdated.

    Remedy: none for a retriable error, which the clients retry with fresh metadata; otherwise
    create the client again.
    """


class ServerFaultError(KafkaError):
    """The request was right, and the server could not serve it.

    Remedy: wait and retry; if the error persists, read the log of the broker.
    """


class BadRecordsError(KafkaError):
    """Record bytes are invalid; names the position, the expected and the found value.

    Remedy: check the log with `cordwood log verify`, and repair it with `cordwood log salvage`.
    """

    def __init__(
        self,
        message: str = "",
        *,
        position: int | None = None,
        base_offset: int | None = None,
        expected: int | str | None = None,
        found: int | str | None = None,
        remedy: str = "",
    ) -> None:
        super().__init__(message)
        self.position = position
        self.base_offset = base_offset
        self.expected = expected
        self.found = found
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the message, then the known details in brackets, then the remedy."""
        known = {
            "position": self.position,
            "base offset": self.base_offset,
            "expected": self.expected,
            "found": self.found,
        }
        details = ", ".join(f"{name} {value}" for name, value in known.items() if value is not None)
        message = super().__str__()
        described = f"{message} ({details})" if details else message
        return f"{described}; {self.remedy}" if self.remedy else described


def _restore(kind: type[CordwoodError], args: tuple[object, ...]) -> CordwoodError:
    """Make an error of `kind` with its `args` alone; pickle sets its attributes afterwards."""
    return kind.__new__(kind, *args)
