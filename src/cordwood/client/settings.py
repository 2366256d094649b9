"""Client settings; an option is Kafka's setting name with underscores (Java: `ProducerConfig`,
...).

    Producer("127.0.0.1:9092", linger_ms=20)
    Producer.from_config({"bootstrap.servers": "127.0.0.1:9092", "linger.ms": "20"})

Both forms give the same frozen value, validated by the same declaration. The `…Options` classes
repeat the names for the type checker, which cannot derive keywords from a dataclass.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Final, TypedDict, TypeVar, cast

from cordwood.client import auto_offset_reset
from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.errors import SettingError
from cordwood.core.settings import (
    Setting,
    SettingSource,
    SettingSynonym,
    SettingTable,
    SettingType,
    SettingValue,
    text_of,
    texts_of,
)
from cordwood.records.compression import Codec

CODECS: Final = tuple(codec.kafka_name for codec in Codec)
GROUP_PROTOCOLS: Final = ("classic", "consumer")
ISOLATIONS: Final = ("read_uncommitted", "read_committed")

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
    doc="Brokers for the first connection, as host:port; metadata lists the others.",
)
_LEVEL: Final = Setting(
    name="compression.level",
    type=SettingType.INT,
    default=None,
    doc="The codec's compression level; by default Kafka's default for the codec.",
    synonyms=tuple(SettingSynonym(f"compression.{name}.level") for name in ("gzip", "lz4", "zstd")),
)


_RESET: Final = Setting(
    name="auto.offset.reset",
    type=SettingType.STRING,
    default="latest",
    doc="Start position without a valid offset: earliest, latest, by_duration:PT1H, or none.",
    check=auto_offset_reset.problem_of,
)


_ASSIGNORS: Final = Setting(
    name="partition.assignment.strategy",
    type=SettingType.LIST,
    default=("range", "cooperative-sticky"),
    doc="Assignors of a classic group by preference: range, roundrobin, cooperative-sticky.",
)


def _optional_word(name: str, doc: str) -> str | None:
    setting = Setting(name=name, type=SettingType.STRING, default=None, doc=doc)
    return cast("str | None", _option(setting))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSettings:
    """Settings of every client: bootstrap servers, timeouts and backoff."""

    bootstrap_servers: str | Sequence[str] = cast("tuple[str, ...]", _option(_BOOTSTRAP))
    client_id: str = _word("client.id", "cordwood", "Client name in the brokers' logs and quotas.")
    security_protocol: str = _word(
        "security.protocol",
        "PLAINTEXT",
        "SSL encrypts; `tls` replaces the system's certificates.",
        one_of=("PLAINTEXT", "SSL"),
    )
    request_timeout_ms: int = _number(
        "request.timeout.ms",
        30_000,
        "Maximum wait for a response; then the connection is closed.",
    )
    socket_connection_setup_timeout_ms: int = _number(
        "socket.connection.setup.timeout.ms", 10_000, "Timeout of connecting to a broker."
    )
    default_api_timeout_ms: int = _number(
        "default.api.timeout.ms", 60_000, "Timeout of a call, including its retries."
    )
    retry_backoff_ms: int = _number(
        "retry.backoff.ms", 100, "First retry backoff; each later one is twice as long."
    )
    retry_backoff_max_ms: int = _number(
        "retry.backoff.max.ms", 1_000, "Upper limit of the retry backoff."
    )
    metadata_max_age_ms: int = _number(
        "metadata.max.age.ms", 300_000, "Interval of metadata refreshes without any error."
    )
    metadata_max_idle_ms: int = _number(
        "metadata.max.idle.ms",
        300_000,
        "Time without use after which a topic's metadata are dropped.",
        at_least=5_000,
    )
    receive_message_max_bytes: int = _number(
        "receive.message.max.bytes",
        104_857_600,
        "Maximum size of a response.",
        at_least=1_000,
    )

    def __post_init__(self) -> None:
        servers = _items_of(self.bootstrap_servers)
        object.__setattr__(self, "bootstrap_servers", servers)
        for setting in settings_in(type(self)):
            value: SettingValue = getattr(self, attribute_of(setting.name))
            text = text_of(value)
            if text is not None:
                setting.parse(text)
            elif setting.default is not None:
                raise SettingError(
                    f"setting {setting.name} is None", key=setting.name, remedy="omit it"
                )
        if not self.bootstrap_servers:
            raise SettingError(
                "no bootstrap server given",
                key="bootstrap.servers",
                remedy="give at least one host:port",
            )


T = TypeVar("T")
S = TypeVar("S", bound=ClientSettings)


def settings_of(kind: type[S], options: Mapping[str, object], *, other_options: Sequence[str]) -> S:
    """Return the settings given by keywords; `other_options` are keywords of the caller itself.

    TypeError for an unknown keyword, as in Python, with the nearest known one.
    """
    known = [attribute_of(setting.name) for setting in settings_in(kind)]
    for name in options:
        if name not in known:
            near = get_close_matches(name, sorted({*known, *other_options}), n=1)
            remedy = f"; did you mean {near[0]}?" if near else ""
            raise TypeError(f"unknown option {name!r}{remedy}")
    return kind(**cast("ClientOptions", options))


def options_of(kind: type[ClientSettings], config: Mapping[str, object]) -> dict[str, object]:
    """Return settings given by Kafka's names as options; SettingError for an unknown name."""
    table = SettingTable(settings_in(kind))
    table.refuse_unknown(config)
    texts = texts_of(cast("Mapping[str, SettingValue]", config))
    resolved = table.resolve([SettingSource("config", texts)])
    return {attribute_of(name): each.value for name, each in resolved.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerSettings(ClientSettings):
    """Settings of a producer."""

    acks: str = _word(
        "acks",
        "all",
        "Required acknowledgements: none, the leader, all in-sync replicas.",
        one_of=("0", "1", "all", "-1"),
    )
    enable_idempotence: bool = _flag(
        "enable.idempotence",
        "Retries write every record exactly once and in order.",
        default=True,
    )
    linger_ms: int = _number("linger.ms", 5, "Time that a batch waits for more records.")
    batch_size: int = _number("batch.size", 16_384, "Maximum uncompressed bytes of a batch.")
    buffer_memory: int = _number(
        "buffer.memory", 33_554_432, "Maximum bytes of buffered records.", at_most=INT64_MAX
    )
    max_request_size: int = _number(
        "max.request.size", 1_048_576, "Maximum size of a record, and of a request."
    )
    max_in_flight_requests_per_connection: int = _number(
        "max.in.flight.requests.per.connection",
        5,
        "Maximum requests in flight per broker.",
        at_least=1,
    )
    delivery_timeout_ms: int = _number(
        "delivery.timeout.ms",
        120_000,
        "Timeout of a record, including its retries and the wait for a response.",
    )
    max_block_ms: int = _number(
        "max.block.ms",
        60_000,
        "Maximum time that `send` waits for metadata or buffer memory.",
        at_most=INT64_MAX,
    )
    compression_type: str = _word("compression.type", "none", "Compression codec.", one_of=CODECS)
    compression_level: int | None = cast("int | None", _option(_LEVEL))
    transactional_id: str | None = _optional_word(
        "transactional.id", "Name of the producer for transactions; a later one fences it."
    )
    transaction_timeout_ms: int = _number(
        "transaction.timeout.ms",
        60_000,
        "Time after which the coordinator aborts an open transaction.",
        at_least=1,
    )

    def __post_init__(self) -> None:
        # By name: a dataclass with slots is not the class that `super` is bound to.
        ClientSettings.__post_init__(self)
        if self.delivery_timeout_ms <= self.linger_ms:
            raise SettingError(
                f"delivery.timeout.ms={self.delivery_timeout_ms} ends before a batch is sent",
                key="delivery.timeout.ms",
                remedy=f"set it above linger.ms={self.linger_ms}",
            )
        if self.transactional_id == "":
            raise SettingError(
                "transactional.id is empty",
                key="transactional.id",
                remedy="omit it, or give a name",
            )
        if self.transactional_id is not None and not self.enable_idempotence:
            raise SettingError(
                "a transactional producer is idempotent",
                key="enable.idempotence",
                remedy="omit enable_idempotence, or transactional_id",
            )
        if not self.enable_idempotence:
            return
        if self.acks not in {"all", "-1"}:
            raise SettingError(
                f"acks={self.acks} excludes idempotence",
                key="acks",
                remedy="set acks=all, or enable_idempotence=False",
            )
        if self.max_in_flight_requests_per_connection > 5:
            raise SettingError(
                "brokers keep the last five batches of an idempotent producer",
                key="max.in.flight.requests.per.connection",
                remedy="set at most 5, or enable_idempotence=False",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings(ClientSettings):
    """Settings of a consumer."""

    isolation_level: str = _word(
        "isolation.level",
        "read_uncommitted",
        "Whether records of open and aborted transactions are read.",
        one_of=ISOLATIONS,
    )
    auto_offset_reset: str = cast("str", _option(_RESET))
    allow_auto_create_topics: bool = _flag(
        "allow.auto.create.topics",
        "Whether a broker may create an assigned topic that does not exist.",
        default=True,
    )
    check_crcs: bool = _flag("check.crcs", "Verify the checksums of batches.", default=True)
    fetch_min_bytes: int = _number(
        "fetch.min.bytes", 1, "Bytes that a broker waits for before it responds."
    )
    fetch_max_bytes: int = _number("fetch.max.bytes", 52_428_800, "Maximum bytes of a response.")
    max_partition_fetch_bytes: int = _number(
        "max.partition.fetch.bytes", 1_048_576, "Maximum bytes of one partition in a response."
    )
    fetch_max_wait_ms: int = _number(
        "fetch.max.wait.ms", 500, "Time that a broker waits for `fetch.min.bytes`."
    )
    max_poll_records: int = _number(
        "max.poll.records", 500, "Maximum records that a poll returns.", at_least=1
    )
    group_id: str | None = _optional_word(
        "group.id", "Group of the consumer, for subscriptions and committed offsets."
    )
    group_instance_id: str | None = _optional_word(
        "group.instance.id", "Name of a static member, which keeps its partitions over a restart."
    )
    group_protocol: str = _word(
        "group.protocol",
        "classic",
        "Assignment by a member (classic), or by the coordinator (consumer, KIP-848).",
        one_of=GROUP_PROTOCOLS,
    )
    group_remote_assignor: str | None = _optional_word(
        "group.remote.assignor", "The coordinator's assignor, for group.protocol=consumer."
    )
    partition_assignment_strategy: str | Sequence[str] = cast(
        "tuple[str, ...]", _option(_ASSIGNORS)
    )
    session_timeout_ms: int = _number(
        "session.timeout.ms",
        45_000,
        "Time without heartbeats after which a classic group removes the member.",
        at_least=1,
    )
    heartbeat_interval_ms: int = _number(
        "heartbeat.interval.ms", 3_000, "Interval of heartbeats in a classic group.", at_least=1
    )
    max_poll_interval_ms: int = _number(
        "max.poll.interval.ms",
        300_000,
        "Time without a poll after which the consumer leaves its group.",
        at_least=1,
    )
    enable_auto_commit: bool = _flag(
        "enable.auto.commit", "Commit processed offsets in the background.", default=True
    )
    auto_commit_interval_ms: int = _number(
        "auto.commit.interval.ms", 5_000, "Interval of automatic commits.", at_least=1
    )
    exclude_internal_topics: bool = _flag(
        "exclude.internal.topics",
        "Whether a pattern excludes internal topics in a classic group.",
        default=True,
    )

    def __post_init__(self) -> None:
        # By name: a dataclass with slots is not the class that `super` is bound to.
        names = _items_of(self.partition_assignment_strategy)
        object.__setattr__(self, "partition_assignment_strategy", names)
        ClientSettings.__post_init__(self)
        if self.group_id == "":
            raise SettingError(
                "group.id is empty", key="group.id", remedy="omit it, or name a group"
            )
        if self.group_protocol == "classic" and (
            self.heartbeat_interval_ms >= self.session_timeout_ms
        ):
            raise SettingError(
                f"heartbeat.interval.ms={self.heartbeat_interval_ms} exceeds the session",
                key="heartbeat.interval.ms",
                remedy=f"set it below session.timeout.ms={self.session_timeout_ms}",
            )


class ClientOptions(TypedDict, total=False):
    """Keyword options of every client."""

    bootstrap_servers: str | Sequence[str]
    client_id: str
    security_protocol: str
    request_timeout_ms: int
    socket_connection_setup_timeout_ms: int
    default_api_timeout_ms: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    metadata_max_age_ms: int
    metadata_max_idle_ms: int
    receive_message_max_bytes: int


class ProducerOptions(ClientOptions, total=False):
    """Keyword options of a producer."""

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
    transactional_id: str | None
    transaction_timeout_ms: int


class ConsumerOptions(ClientOptions, total=False):
    """Keyword options of a consumer."""

    isolation_level: str
    auto_offset_reset: str
    allow_auto_create_topics: bool
    check_crcs: bool
    fetch_min_bytes: int
    fetch_max_bytes: int
    max_partition_fetch_bytes: int
    fetch_max_wait_ms: int
    max_poll_records: int
    group_id: str | None
    group_instance_id: str | None
    group_protocol: str
    group_remote_assignor: str | None
    partition_assignment_strategy: str | Sequence[str]
    session_timeout_ms: int
    heartbeat_interval_ms: int
    max_poll_interval_ms: int
    enable_auto_commit: bool
    auto_commit_interval_ms: int
    exclude_internal_topics: bool


def attribute_of(name: str) -> str:
    """Return the option name of a Kafka setting name."""
    return name.replace(".", "_")


def shared_options(config: Mapping[str, T]) -> dict[str, T]:
    """Return the entries, by Kafka's names, that every kind of client accepts."""
    known = ClientOptions.__annotations__
    return {name: value for name, value in config.items() if attribute_of(name) in known}


def _items_of(given: str | Sequence[str]) -> tuple[str, ...]:
    """Return the items of a list, or of a string with commas."""
    parts = given.split(",") if isinstance(given, str) else given
    return tuple(part.strip() for part in parts if part.strip())


def settings_in(kind: type[ClientSettings]) -> Iterator[Setting]:
    """Yield the declarations of a kind of client, its base class first."""
    for each in fields(kind):
        yield each.metadata[_SETTING]
