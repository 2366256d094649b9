"""Settings that Kafka knows and that mean nothing here: accepted, warned of, without effect.

Whoever moves in with their `server.properties` shall not have to edit it. Each has its reason; what
ends in a dot stands for everything that begins so.
"""

from types import MappingProxyType
from typing import Final

_BY_REASON: Final = {
    "brokers keep no quorum of controllers": (
        "broker.heartbeat.interval.ms",
        "broker.session.timeout.ms",
        "controller.listener.names",
        "controller.performance.",
        "controller.quorum.",
        "early.start.listeners",
        "initial.broker.registration.timeout.ms",
        "internal.metadata.",
        "log.dir.failure.timeout.ms",
        "metadata.",
        "process.roles",
        "sasl.mechanism.controller.protocol",
        "server.max.startup.time.ms",
        "unclean.leader.election.interval.ms",
    ),
    "one node keeps its own metadata": ("zookeeper.",),
    "classes of the JVM are not loaded": (
        "alter.config.policy.",
        "client.quota.callback.",
        "config.providers",
        "create.topic.policy.",
        "principal.builder.class",
        "replica.selector.class",
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "sasl.oauthbearer.jwt.",
        "sasl.server.callback.handler.class",
        "security.providers",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    ),
    "metrics are served at /metrics alone": (
        "auto.include.jmx.reporter",
        "kafka.metrics.",
        "metric.reporters",
        "metrics.",
        "telemetry.max.bytes",
    ),
    "one thread serves, and others do what blocks": (
        "background.threads",
        "group.coordinator.background.threads",
        "group.coordinator.threads",
        "num.io.threads",
        "num.network.threads",
        "queued.max.requests",
    ),
    "a request that waits is woken by what it waits for": (
        "delete.records.purgatory.purge.interval.requests",
        "fetch.purgatory.purge.interval.requests",
        "producer.purgatory.purge.interval.requests",
    ),
    "Kerberos is not spoken": ("sasl.kerberos.",),
    "brokers fetch no tokens to log in with": (
        "sasl.login.",
        "sasl.oauthbearer.assertion.",
        "sasl.oauthbearer.client.",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.",
    ),
    "remote storage is not served": (
        "follower.fetch.last.tiered.offset.enable",
        "remote.",
        "rlmm.config.",
        "rsm.config.",
    ),
    "share groups are not served": (
        "group.share.",
        "share.coordinator.",
        "share.fetch.purgatory.purge.interval.requests",
    ),
    "streams groups are not served": ("group.streams.",),
    "a connection to another broker has its request's time": (
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    ),
    "every directory takes new partitions": ("cordoned.log.dirs",),
    "a group's pattern is resolved whenever topics come or go": (
        "group.consumer.regex.refresh.interval.ms",
    ),
    "every version that is served is stable": ("unstable.",),
    "Kafka 4 does without": (
        "broker.id.generation.enable",
        "control.plane.listener.name",
        "inter.broker.protocol.version",
        "leader.imbalance.per.broker.percentage",
        "log.message.downconversion.enable",
        "log.message.format.version",
        "offsets.commit.required.acks",
        "reserved.broker.max.id",
    ),
}
_REASONS: Final = MappingProxyType(
    {name: reason for reason, names in _BY_REASON.items() for name in names}
)
_BEGINNINGS: Final = tuple(name for name in _REASONS if name.endswith("."))


def why_ignored(key: str) -> str | None:
    """Return why a key has no effect here, None if it may have one."""
    if key in _REASONS:
        return _REASONS[key]
    return next((_REASONS[each] for each in _BEGINNINGS if key.startswith(each)), None)


def ignored() -> list[tuple[str, tuple[str, ...]]]:
    """Return the reasons, each with what it stands for, for a page that people read."""
    return list(_BY_REASON.items())
