"""What is asked of a dump, and what its parts hand to one another."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cordwood.core.binary import INT32_MAX, INT64_MAX, INT64_MIN
from cordwood.core.errors import DamagedFileError, InvalidRecordError, SettingError
from cordwood.core.java import utf8_as_java
from cordwood.core.ports import Files
from cordwood.records.chunk import Decoder, Selection
from cordwood.records.inspect import Inspector, PlainInspector
from cordwood.records.lines import LineWriter, PlainLineWriter
from cordwood.records.plain import PlainDecoder
from cordwood.workbench.dump_findings import Findings
from cordwood.workbench.windows import Spend, spend_freely

MAX_MESSAGE_BYTES: Final = 5 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    """What to show. Data implies records; `folder` is where relative paths begin."""

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

    @property
    def has_records(self) -> bool:
        return self.is_deep or self.has_data

    @property
    def is_cut(self) -> bool:
        """Whether logs are read up to a limit; Kafka takes the highest one for none."""
        return self.max_bytes != INT32_MAX

    def end_of(self, size: int) -> int:
        """Return how far a log of this size is read."""
        return min(size, self.max_bytes) if self.is_cut else size

    def __post_init__(self) -> None:
        for key, value in (
            ("max-bytes", self.max_bytes),
            ("max-message-size", self.max_message_size),
        ):
            if value < 0:
                raise SettingError(
                    f"--{key} cannot be {value}", key=key, remedy="choose a number of at least 0"
                )


class Said(NamedTuple):
    """Some bytes for the standard output, or for the standard error."""

    text: bytes
    is_error: bool = False


class DumpedFile(NamedTuple):
    """A file to dump: as it is printed, as it is opened, and its name's first part."""

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
                "a file name that does not begin with an offset",
                path=self.path,
                expected="a number",
                found=self.stem,
                remedy="give it the name of its segment",
            ) from None

    def beside(self, suffix: str) -> str:
        """Return the path of another file of the same segment."""
        return f"{self.path[: len(self.path) - len(self.name)]}{self.stem}{suffix}"


@dataclass(slots=True, kw_only=True)
class Tools:
    """What a dump works with; `findings` gathers what is wrong."""

    files: Files
    options: DumpOptions
    spend: Spend = spend_freely
    writer: LineWriter = field(default_factory=PlainLineWriter)
    inspector: Inspector = field(default_factory=PlainInspector)
    decoder: Decoder = field(default_factory=PlainDecoder)
    findings: Findings = field(default_factory=Findings)


def said(text: str) -> Said:
    """Return text for the standard output."""
    return Said(text.encode("utf-8", "surrogateescape"))


def complained(text: str) -> Said:
    """Return text for the standard error."""
    return Said(text.encode("utf-8", "surrogateescape"), is_error=True)


def cut_off(count: int, file: DumpedFile) -> str:
    """Return what is said of bytes behind the last batch."""
    return f"Found {count} invalid bytes at the end of {file.name}\n"


def selection_of(
    offsets: tuple[int | None, int | None], timestamps: tuple[int | None, int | None]
) -> Selection | None:
    """Return which records are wanted, None when all are; None leaves an end open."""
    if (offsets, timestamps) == ((None, None), (None, None)):
        return None
    return Selection(
        first_offset=0 if offsets[0] is None else offsets[0],
        last_offset=INT64_MAX if offsets[1] is None else offsets[1],
        min_timestamp=INT64_MIN if timestamps[0] is None else timestamps[0],
        max_timestamp=INT64_MAX if timestamps[1] is None else timestamps[1],
    )


def ensure_decoders_exist(asked: Mapping[str, bool]) -> None:
    """Refuse the decoders of internal topics, which come with what writes those topics."""
    for name, is_asked in asked.items():
        if is_asked:
            raise SettingError(
                f"--{name} is not there yet: it needs {_AWAITED[name]}",
                key=name,
                remedy="use --print-data-log, which prints the bytes as text",
            )


def decoder_named(name: str | None) -> Callable[[bytes], bytes]:
    """Return one of Kafka's own decoders; classes of others run in Java alone."""
    decoder = utf8_as_java if name is None else _DECODERS.get(name)
    if decoder is None:
        raise SettingError(
            f"there is no decoder {name}",
            key="key-decoder-class, value-decoder-class",
            remedy=f"choose from {', '.join(_DECODERS)}",
        )
    return decoder


def _number_text(size: int) -> Callable[[bytes], bytes]:
    """Return the decoder of a number of so many bytes, which overlooks what is behind them."""

    def text(data: bytes) -> bytes:
        if len(data) < size:
            raise InvalidRecordError(
                "bytes that are too few for a number", expected=size, found=len(data)
            )
        return b"%d" % int.from_bytes(data[:size], signed=True)

    return text


_AWAITED: Final = {
    "offsets-decoder": "the records of group coordination",
    "transaction-log-decoder": "the records of transaction coordination",
    "cluster-metadata-decoder": "the records of a KRaft quorum",
    "remote-log-metadata-decoder": "the records of tiered storage",
    "share-group-state-decoder": "the records of share groups",
}
_DECODERS: Final[dict[str, Callable[[bytes], bytes]]] = {
    "org.apache.kafka.tools.api.StringDecoder": utf8_as_java,
    "org.apache.kafka.tools.api.IntegerDecoder": _number_text(4),
    "org.apache.kafka.tools.api.LongDecoder": _number_text(8),
}
