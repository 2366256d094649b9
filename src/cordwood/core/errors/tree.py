"""The branches of the error tree; the leaves that stand for wire codes live in the modules beside.

An error carries what a program needs (a code, a position, a key) as attributes and says the same
in its text. All of them survive pickling, since they cross process boundaries.
"""

from typing import ClassVar


class CordwoodError(Exception):
    """The root: every error that this package raises on purpose."""

    def __reduce__(self) -> tuple[object, ...]:
        """Rebuild without `__init__`, whose keywords pickle would not pass."""
        return _restore, (type(self), self.args), self.__dict__


class BytesError(CordwoodError, ValueError):
    """A primitive does not fit its place, or its bytes cannot be what they should be."""

    def __init__(self, what: str, *, position: int, expected: int | str, found: int | str) -> None:
        super().__init__(what)
        self.what = what
        self.position = position
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        """Return one sentence with the place and both sides of the contradiction."""
        return (
            f"{self.what} at position {self.position}: expected {self.expected}, found {self.found}"
        )


class SettingError(CordwoodError, ValueError):
    """A setting is unknown or has a value that cannot be used; the text says what to do.

    `told` is the problem in the words that Kafka's clients know.
    """

    def __init__(self, problem: str, *, key: str, remedy: str, told: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.key = key
        self.remedy = remedy
        self.told = told or problem

    def __str__(self) -> str:
        """Return the problem, then the remedy."""
        return f"{self.problem}; {self.remedy}"


class DamagedFileError(CordwoodError):
    """A file beside the records (index, snapshot, checkpoint, properties) is not what it should be.

    `position` is a byte, or a line where the file is text; the text says what to do.
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
        """Return the file and the problem, what is known of the place, and the remedy."""
        known = {"position": self.position, "expected": self.expected, "found": self.found}
        details = ", ".join(f"{name} {value}" for name, value in known.items() if value is not None)
        place = f" ({details})" if details else ""
        return f"{self.path}: {self.what}{place}; {self.remedy}"


class PlaceError(CordwoodError):
    """What is found at a path cannot be used as it is; the text says what to do."""

    def __init__(self, problem: str, *, path: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the path, the problem, then the remedy."""
        return f"{self.path}: {self.problem}; {self.remedy}"


class LogDirectoryError(PlaceError):
    """A log directory cannot be used as it is: it is locked, foreign, or contradicts another."""


class TableError(PlaceError):
    """A table outside of the log cannot take what it is offered, or is not what it is taken for."""


class ListenError(CordwoodError):
    """An address cannot be listened on: another has it, or it is none of this machine's.

    `key` is the setting that gave it.
    """

    def __init__(self, problem: str, *, key: str, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.key = key
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the problem, then the remedy."""
        return f"{self.problem}; {self.remedy}"


class SparkError(CordwoodError):
    """Spark is not there, or gave up what it was to do; the text says what to do about it."""

    def __init__(self, problem: str, *, remedy: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.remedy = remedy

    def __str__(self) -> str:
        """Return the problem, then the remedy."""
        return f"{self.problem}; {self.remedy}"


class MetadataConflictError(CordwoodError):
    """A change of the metadata cannot be made: a node is there, is not, or is not as it was."""

    def __init__(self, problem: str, *, path: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path

    def __str__(self) -> str:
        """Return the node, then what is the matter with it."""
        return f"{self.path}: {self.problem}"


class KafkaError(CordwoodError):
    """An error with a code on the wire; `retriable` says whether the same request may succeed."""

    code: ClassVar[int] = -1
    retriable: ClassVar[bool] = False

    def __init__(self, message: str = "") -> None:
        super().__init__(message)


class ClientFaultError(KafkaError):
    """The asker's fault: the request has to change."""


class AccessError(ClientFaultError):
    """The asker's fault: the rights, the credentials or the security settings have to change."""


class OutdatedError(KafkaError):
    """Nobody's fault: the asker's view of the cluster, the group or its own epoch is outdated."""


class ServerFaultError(KafkaError):
    """The server's fault: the request was right and could not be served."""


class BadRecordsError(KafkaError):
    """The records' fault: names the place in the buffer and both sides of the contradiction."""

    def __init__(
        self,
        message: str = "",
        *,
        position: int | None = None,
        base_offset: int | None = None,
        expected: int | str | None = None,
        found: int | str | None = None,
    ) -> None:
        super().__init__(message)
        self.position = position
        self.base_offset = base_offset
        self.expected = expected
        self.found = found

    def __str__(self) -> str:
        """Return the message, then what is known of the place, in brackets."""
        known = {
            "position": self.position,
            "base offset": self.base_offset,
            "expected": self.expected,
            "found": self.found,
        }
        details = ", ".join(f"{name} {value}" for name, value in known.items() if value is not None)
        message = super().__str__()
        return f"{message} ({details})" if details else message


def _restore(kind: type[CordwoodError], args: tuple[object, ...]) -> CordwoodError:
    """Make an error of `kind` with its `args` alone; pickle fills its attributes afterwards."""
    return kind.__new__(kind, *args)
