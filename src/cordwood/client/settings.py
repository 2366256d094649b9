"""The settings of the clients, each declared once: an option is Kafka's name with underscores.

    Producer("127.0.0.1:9092", linger_ms=20)
    Producer.from_config({"bootstrap.servers": "127.0.0.1:9092", "linger.ms": "20"})

Both ways end in the same frozen value, held against the same declaration. The `…Options` repeat the
names for the type checker, which cannot take keywords from a dataclass.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Final, TypedDict, TypeVar, cast

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import SettingError
from cordwood.core.settings import (
    Setting,
    SettingTable,
    SettingType,
    SettingValue,
    Source,
    Synonym,
    text_of,
    texts_of,
)
from cordwood.records.compression import Codec

CODECS: Final = tuple(codec.kafka_name for codec in Codec)
ISOLATIONS: Final = ("read_uncommitted", "read_committed")
RESETS: Final = ("earliest", "latest", "none")

_SETTING: Final = "setting"


def _option(setting: Setting) -> object:
    return field(default=setting.default, metadata={_SETTING: setting})


def _number(name: str, default: int, doc: str, *, at_least: int = 0, at_most: int = 0) -> int:
    kind = SettingType.LONG if at_most == INT64_MAX else SettingType.INT
    setting = Setting(
        name=name,
        type=kind,
        default=default,
        doc=doc,
        at_least=at_least,
        at_most=at_most or INT32_MAX,
    )
    return cast("int", _option(setting))


def _flag(name: str, doc: str, *, default: bool) -> bool:
    setting = Setting(name=name, type=SettingType.BOOLEAN, default=default, doc=doc)
    return cast("bool", _option(setting))


def _word(name: str, default: str, doc: str, *, one_of: tuple[str, ...] = ()) -> str:
    setting = Setting(name=name, type=SettingType.STRING, default=default, doc=doc, one_of=one_of)
    return cast("str", _option(setting))


_BOOTSTRAP: Final = Setting(
    name="bootstrap.servers",
    type=SettingType.LIST,
    default=(),
    doc="Brokers to begin with, as host:port; the others are learnt from them.",
)
_LEVEL: Final = Setting(
    name="compression.level",
    type=SettingType.INT,
    default=None,
    doc="The codec's own level; Kafka's default where it is left out.",
    synonyms=tuple(Synonym(f"compression.{name}.level") for name in ("gzip", "lz4", "zstd")),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """What every client is told: whom to ask, and how long to wait."""

    bootstrap_servers: str | Sequence[str] = cast("tuple[str, ...]", _option(_BOOTSTRAP))
    client_id: str = _word("client.id", "cordwood", "What brokers call the client in their logs.")
    security_protocol: str = _word(
        "security.protocol",
        "PLAINTEXT",
        "SSL encrypts, with the machine's certificates unless `tls` is given.",
        one_of=("PLAINTEXT", "SSL"),
    )
    request_timeout_ms: int = _number(
        "request.timeout.ms",
        30_000,
        "How long an answer may take before its connection is given up.",
    )
    socket_connection_setup_timeout_ms: int = _number(
        "socket.connection.setup.timeout.ms", 10_000, "How long connecting to a broker may take."
    )
    default_api_timeout_ms: int = _number(
        "default.api.timeout.ms", 60_000, "How long a call may take, all its retries included."
    )
    retry_backoff_ms: int = _number(
        "retry.backoff.ms", 100, "The first pause before a retry; each later one is twice as long."
    )
    retry_backoff_max_ms: int = _number(
        "retry.backoff.max.ms", 1_000, "The longest pause before a retry."
    )
    metadata_max_age_ms: int = _number(
        "metadata.max.age.ms", 300_000, "After how long leaders are asked for without an occasion."
    )
    receive_message_max_bytes: int = _number(
        "receive.message.max.bytes",
        104_857_600,
        "The largest answer that is taken.",
        at_least=1_000,
    )

    def __post_init__(self) -> None:
        servers = _servers_of(self.bootstrap_servers)
        object.__setattr__(self, "bootstrap_servers", servers)
        for setting in _settings(type(self)):
            value: SettingValue = getattr(self, attribute_of(setting.name))
            text = text_of(value)
            if text is not None:
                setting.parse(text)
            elif setting.default is not None:
                raise SettingError(
                    f"setting {setting.name} is None", key=setting.name, remedy="leave it out"
                )
        if not self.bootstrap_servers:
            raise SettingError(
                "no broker is given", key="bootstrap.servers", remedy="name one as host:port"
            )


T = TypeVar("T")
S = TypeVar("S", bound=ClientSettings)


def settings_of(kind: type[S], options: Mapping[str, object], *, beside: Sequence[str]) -> S:
    """Return the settings of a client's keywords, which also has those `beside`.

    TypeError for a keyword that is none, as Python has it, with the nearest that is one.
    """
    known = [attribute_of(setting.name) for setting in _settings(kind)]
    for name in options:
        if name not in known:
            near = get_close_matches(name, sorted({*known, *beside}), n=1)
            remedy = f"; did you mean {near[0]}?" if near else ""
            raise TypeError(f"there is no option {name!r}{remedy}")
    return kind(**cast("ClientOptions", options))


def options_of(kind: type[ClientSettings], config: Mapping[str, object]) -> dict[str, object]:
    """Return what Kafka's names give, as options; a name that is unknown is refused."""
    table = SettingTable(_settings(kind))
    table.refuse_unknown(config)
    texts = texts_of(cast("Mapping[str, SettingValue]", config))
    resolved = table.resolve([Source("config", texts)])
    return {attribute_of(name): each.value for name, each in resolved.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings(ClientSettings):
    """What a producer is told beside that."""

    acks: str = _word(
        "acks",
        "all",
        "Who has to have a record: nobody, its leader, all in sync.",
        one_of=("0", "1", "all", "-1"),
    )
    enable_idempotence: bool = _flag(
        "enable.idempotence",
        "Every record once and in order, whatever is sent again.",
        default=True,
    )
    linger_ms: int = _number("linger.ms", 5, "How long a batch waits for more records.")
    batch_size: int = _number("batch.size", 16_384, "How many bytes a batch has, uncompressed.")
    buffer_memory: int = _number(
        "buffer.memory", 33_554_432, "How many bytes of records may wait.", at_most=INT64_MAX
    )
    max_request_size: int = _number(
        "max.request.size", 1_048_576, "The largest record, and the most bytes of a request."
    )
    max_in_flight_requests_per_connection: int = _number(
        "max.in.flight.requests.per.connection",
        5,
        "Requests a broker may be given at once.",
        at_least=1,
    )
    delivery_timeout_ms: int = _number(
        "delivery.timeout.ms", 120_000, "After how long a record is given up."
    )
    max_block_ms: int = _number(
        "max.block.ms",
        60_000,
        "How long `send` waits for a topic to be known, or for memory.",
        at_most=INT64_MAX,
    )
    compression_type: str = _word("compression.type", "none", "The codec.", one_of=CODECS)
    compression_level: int | None = cast("int | None", _option(_LEVEL))

    def __post_init__(self) -> None:
        # By name: a dataclass with slots is another class than the one that `super` would know.
        ClientSettings.__post_init__(self)
        if not self.enable_idempotence:
            return
        if self.acks not in {"all", "-1"}:
            raise SettingError(
                f"acks={self.acks} cannot give idempotence",
                key="acks",
                remedy="choose acks=all, or enable_idempotence=False",
            )
        if self.max_in_flight_requests_per_connection > 5:
            raise SettingError(
                "brokers remember five batches of an idempotent producer",
                key="max.in.flight.requests.per.connection",
                remedy="choose at most 5, or enable_idempotence=False",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings(ClientSettings):
    """What a consumer is told beside that."""

    isolation_level: str = _word(
        "isolation.level",
        "read_uncommitted",
        "Whether aborted records are read.",
        one_of=ISOLATIONS,
    )
    auto_offset_reset: str = _word(
        "auto.offset.reset",
        "latest",
        "Where to begin without a position, or with a lost one.",
        one_of=RESETS,
    )
    check_crcs: bool = _flag("check.crcs", "Whether checksums are checked.", default=True)
    fetch_min_bytes: int = _number("fetch.min.bytes", 1, "What a broker waits for.")
    fetch_max_bytes: int = _number("fetch.max.bytes", 52_428_800, "The most of one answer.")
    max_partition_fetch_bytes: int = _number(
        "max.partition.fetch.bytes", 1_048_576, "The most of one partition in an answer."
    )
    fetch_max_wait_ms: int = _number(
        "fetch.max.wait.ms", 500, "How long a broker waits for `fetch.min.bytes`."
    )
    max_poll_records: int = _number(
        "max.poll.records", 500, "The most records that a poll returns.", at_least=1
    )


class ClientOptions(TypedDict, total=False):
    """Options of every client, by keyword."""

    bootstrap_servers: str | Sequence[str]
    client_id: str
    security_protocol: str
    request_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    default_api_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    metadata_max_age_ms: int
    receive_message_max_bytes: int


class ProducerOptions(ClientOptions, total=False):
    """Options of a producer, by keyword."""

    acks: str
    enable_idempotence: bool
    linger_ms: int
    batch_size: int
    buffer_memory: int
    max_request_size: int
    max_in_flight_requests_per_connection: int
    delivery_timeout_ms: int
    max_block_ms: int
    compression_type: str
    compression_level: int | None


class ConsumerOptions(ClientOptions, total=False):
    """Options of a consumer, by keyword."""

    isolation_level: str
    auto_offset_reset: str
    check_crcs: bool
    fetch_min_bytes: int
    fetch_max_bytes: int
    max_partition_fetch_bytes: int
    fetch_max_wait_ms: int
    max_poll_records: int


def attribute_of(name: str) -> str:
    """Return what Python calls a setting of Kafka's name."""
    return name.replace(".", "_")


def shared_options(config: Mapping[str, T]) -> dict[str, T]:
    """Return those options of a client, by Kafka's names, that every kind of client knows."""
    known = ClientOptions.__annotations__
    return {name: value for name, value in config.items() if attribute_of(name) in known}


def _servers_of(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the brokers of a list, which may be one text with commas."""
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(part.strip() for part in parts if part.strip())


def _settings(kind: type[ClientSettings]) -> Iterator[Setting]:
    for each in fields(kind):
        yield each.metadata[_SETTING]
