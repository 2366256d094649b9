"""Kafka's settings without a meaning here: accepted with a warning, without effect.

A `server.properties` of a Kafka broker must work without edits. Every setting has its reason. A
name that ends in a dot is a prefix.
"""

from types import MappingProxyType
from typing import Final

_BY_REASON: Final = {
    "there is no controller quorum": (
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
    "the broker stores its own metadata": ("zookeeper.",),
    "JVM classes cannot be loaded": (
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
    "metrics are served at /metrics only": (
        "auto.include.jmx.reporter",
        "kafka.metrics.",
        "metric.reporters",
        "metrics.",
        "telemetry.max.bytes",
    ),
    "one thread handles requests, and a pool runs blocking calls": (
        "background.threads",
        "group.coordinator.background.threads",
        "group.coordinator.threads",
        "num.io.threads",
        "num.network.threads",
        "queued.max.requests",
    ),
    "waiting requests are completed by events, without a purgatory": (
        "delete.records.purgatory.purge.interval.requests",
        "fetch.purgatory.purge.interval.requests",
        "producer.purgatory.purge.interval.requests",
    ),
    "Kerberos is not supported": ("sasl.kerberos.",),
    "brokers do not log in with OAuth tokens": (
        "sasl.login.",
        "sasl.oauthbearer.assertion.",
        "sasl.oauthbearer.client.",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.token.",
    ),
    "remote storage is not supported": (
        "follower.fetch.last.tiered.offset.enable",
        "remote.",
        "rlmm.config.",
        "rsm.config.",
    ),
    "share groups are not supported": (
        "group.share.",
        "share.coordinator.",
        "share.fetch.purgatory.purge.interval.requests",
    ),
    "streams groups are not supported": ("group.streams.",),
    "a connection to another broker has the timeout of its request": (
        "socket.connection.setup.timeout.max.ms",
        "socket.connection.setup.timeout.ms",
    ),
    "every directory accepts new partitions": ("cordoned.log.dirs",),
    "a group's pattern is resolved at every topic change": (
        "group.consumer.regex.refresh.interval.ms",
    ),
    "all supported versions are stable": ("unstable.",),
    "Kafka 4 has removed them": (
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
_PREFIXES: Final = tuple(name for name in _REASONS if name.endswith("."))


def find_ignore_reason(key: str) -> str | None:
    """Return the reason why a key is ignored, None if it is not."""
    if key in _REASONS:
        return _REASONS[key]
    return next((_REASONS[each] for each in _PREFIXES if key.startswith(each)), None)


def ignored_by_reason() -> list[tuple[str, tuple[str, ...]]]:
    """Return the reasons with the names that they are about, for the docs."""
    return list(_BY_REASON.items())
