"""Options, state and output of a dump."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX, INT64_MIN
from cordwood.core.errors import DamagedFileError, InvalidRecordError, SettingError
from cordwood.core.java_text import utf8_as_java
from cordwood.core.ports import Files
from cordwood.records.decoder import Decoder, Selection
from cordwood.records.record_checks import Inspector, PlainInspector
from cordwood.records.record_lines import LineWriter, PlainLineWriter
from cordwood.workbench.dump.coordinator_record_parser import (
    OFFSETS_PARSER,
    TRANSACTION_LOG_PARSER,
    CoordinatorRecordParser,
)
from cordwood.workbench.dump.mismatches import DumpFindings
from cordwood.workbench.file_window import OnBytes, ignore_bytes

MAX_MESSAGE_BYTES: Final = 5 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    """Options of a dump. `has_data` implies records; `folder` is the base of relative paths."""

    folder: str
    has_data: bool = False
    is_deep: bool = False
    is_verify_only: bool = False
    is_sanity_only: bool = False
    skip_metadata: bool = False
    max_message_size: int = MAX_MESSAGE_BYTES
    max_bytes: int = INT32_MAX
    selection: Selection | None = None
    key_text: Callable[[bytes], bytes] = utf8_as_java
    value_text: Callable[[bytes], bytes] = utf8_as_java
    #: Decoder of an internal topic, instead of the two above.
    record_parser: CoordinatorRecordParser | None = None

    @property
    def has_records(self) -> bool:
        return self.is_deep or self.has_data

    @property
    def is_cut(self) -> bool:
        """Return whether logs are read only up to a limit; in Kafka the highest one means none."""
        return self.max_bytes != INT32_MAX

    def end_of(self, size: int) -> int:
        """Return how many bytes of a log of this size are read."""
        return min(size, self.max_bytes) if self.is_cut else size

    def __post_init__(self) -> None:
        for key, value in (
            ("max-bytes", self.max_bytes),
            ("max-message-size", self.max_message_size),
        ):
            if value < 0:
                raise SettingError(
                    f"--{key}: {value} is negative", key=key, remedy="choose a number from 0"
                )


class OutputText(NamedTuple):
    """Bytes for the standard output, or for the standard error."""

    text: bytes
    is_error: bool = False


class DumpedFile(NamedTuple):
    """A file to dump: its path as printed, and as opened."""

    shown: str
    path: str

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    @property
    def stem(self) -> str:
        return self.name.partition(".")[0]

    @property
    def suffix(self) -> str:
        dot = self.name.rfind(".")
        return "" if dot < 0 else self.name[dot:]

    @property
    def base_offset(self) -> int:
        try:
            return int(self.stem)
        except ValueError:
            raise DamagedFileError(
                "the file name does not begin with an offset",
                path=self.path,
                expected="a number",
                found=self.stem,
                remedy="rename it to the name of its segment",
            ) from None

    def sibling(self, suffix: str) -> str:
        """Return the path of another file of the same segment."""
        return f"{self.path[: len(self.path) - len(self.name)]}{self.stem}{suffix}"


@dataclass(slots=True, kw_only=True)
class DumpRun:
    """A dump in progress: files, options, kernels, and the findings so far.

    Only a dump of columns has a decoder; by default it is the plain one.
    """

    files: Files
    options: DumpOptions
    on_bytes: OnBytes = ignore_bytes
    writer: LineWriter = field(default_factory=PlainLineWriter)
    inspector: Inspector = field(default_factory=PlainInspector)
    decoder: Decoder | None = None
    findings: DumpFindings = field(default_factory=DumpFindings)


def to_stdout(text: str) -> OutputText:
    """Return text for the standard output."""
    return OutputText(text.encode("utf-8", "surrogateescape"))


def to_stderr(text: str) -> OutputText:
    """Return text for the standard error."""
    return OutputText(text.encode("utf-8", "surrogateescape"), is_error=True)


def trailing_bytes_text(count: int, file: DumpedFile) -> str:
    """Return Kafka's line about the bytes behind the last batch."""
    return f"Found {count} invalid bytes at the end of {file.name}\n"


def build_selection(
    offsets: tuple[int | None, int | None], timestamps: tuple[int | None, int | None]
) -> Selection | None:
    """Return the selection of records, None if all are selected; a None end is open."""
    if (offsets, timestamps) == ((None, None), (None, None)):
        return None
    return Selection(
        first_offset=0 if offsets[0] is None else offsets[0],
        last_offset=INT64_MAX if offsets[1] is None else offsets[1],
        min_timestamp=INT64_MIN if timestamps[0] is None else timestamps[0],
        max_timestamp=INT64_MAX if timestamps[1] is None else timestamps[1],
    )


def find_record_parser(flags: Mapping[str, bool]) -> CoordinatorRecordParser | None:
    """Return the parser of the first decoder of an internal topic that is given, as Kafka does.

    SettingError for one that is not supported yet.
    """
    for name, is_given in flags.items():
        if is_given and name in _PARSERS:
            return _PARSERS[name]
        if is_given:
            raise SettingError(
                f"--{name}: is not supported yet (it requires {_MISSING_PARTS[name]})",
                key=name,
                remedy="use --print-data-log, which prints the bytes as text",
            )
    return None


def find_decoder(name: str | None) -> Callable[[bytes], bytes]:
    """Return one of Kafka's own decoders; other classes require Java."""
    decoder = utf8_as_java if name is None else _DECODERS.get(name)
    if decoder is None:
        raise SettingError(
            f"decoder: unknown class {name}",
            key="key-decoder-class, value-decoder-class",
            remedy=f"choose from {', '.join(_DECODERS)}",
        )
    return decoder


def _number_text(size: int) -> Callable[[bytes], bytes]:
    """Return the decoder of a number of `size` bytes, which ignores the bytes behind it."""

    def text(data: bytes) -> bytes:
        if len(data) < size:
            raise InvalidRecordError("too few bytes for a number", expected=size, found=len(data))
        return b"%d" % int.from_bytes(data[:size], signed=True)

    return text


_PARSERS: Final = {
    "offsets-decoder": OFFSETS_PARSER,
    "transaction-log-decoder": TRANSACTION_LOG_PARSER,
}
_MISSING_PARTS: Final = {
    "cluster-metadata-decoder": "the records of a KRaft quorum",
    "remote-log-metadata-decoder": "the records of tiered storage",
    "share-group-state-decoder": "the records of share groups",
}
_DECODERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "org.apache.kafka.tools.api.StringDecoder": utf8_as_java,
    "org.apache.kafka.tools.api.IntegerDecoder": _number_text(4),
    "org.apache.kafka.tools.api.LongDecoder": _number_text(8),
}
