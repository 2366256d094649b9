"""Settings of share groups and streams groups (Kafka: `ShareGroupConfig`)."""

from typing import Final

from cordwood.broker.settings.ignored.ignored_settings import ignored, no_effect
from cordwood.core.binary import INT32_MAX
from cordwood.core.settings import SettingScope as Scope
from cordwood.core.settings import SettingType as Type

GROUP_TYPES: Final = (
    no_effect(
        "share groups are not supported",
        ignored(
            "group.share.assignment.interval.ms",
            Type.INT,
            default=1000,
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        ignored("group.share.assignors", Type.LIST, default=("simple",)),
        ignored("group.share.delivery.count.limit", Type.INT, default=5, at_least=2, at_most=10),
        ignored("group.share.heartbeat.interval.ms", Type.INT, default=5000, at_least=1),
        ignored(
            "group.share.initialize.retry.interval.ms",
            Type.INT,
            default=30_000,
            at_least=1,
            is_internal=True,
        ),
        ignored("group.share.max.assignment.interval.ms", Type.INT, default=15_000, at_least=0),
        ignored(
            "group.share.max.delivery.count.limit", Type.INT, default=10, at_least=5, at_most=25
        ),
        ignored("group.share.max.heartbeat.interval.ms", Type.INT, default=15_000, at_least=1),
        ignored(
            "group.share.max.partition.max.record.locks",
            Type.INT,
            default=4000,
            at_least=2000,
            at_most=10_000,
        ),
        ignored(
            "group.share.max.record.lock.duration.ms",
            Type.INT,
            default=60_000,
            at_least=30_000,
            at_most=3_600_000,
        ),
        ignored("group.share.max.session.timeout.ms", Type.INT, default=60_000, at_least=1),
        ignored("group.share.max.share.sessions", Type.INT, default=2000, at_least=1),
        ignored("group.share.max.size", Type.INT, default=200, at_least=1, at_most=1000),
        ignored("group.share.min.assignment.interval.ms", Type.INT, default=0, at_least=0),
        ignored("group.share.min.delivery.count.limit", Type.INT, default=2, at_least=2, at_most=5),
        ignored("group.share.min.heartbeat.interval.ms", Type.INT, default=5000, at_least=1),
        ignored(
            "group.share.min.partition.max.record.locks",
            Type.INT,
            default=100,
            at_least=100,
            at_most=2000,
        ),
        ignored(
            "group.share.min.record.lock.duration.ms",
            Type.INT,
            default=15_000,
            at_least=1000,
            at_most=30_000,
        ),
        ignored("group.share.min.session.timeout.ms", Type.INT, default=45_000, at_least=1),
        ignored(
            "group.share.partition.max.record.locks",
            Type.INT,
            default=2000,
            at_least=100,
            at_most=10_000,
        ),
        ignored(
            "group.share.persister.class.name",
            Type.STRING,
            default="org.apache.kafka.server.share.persister.DefaultStatePersister",
            is_internal=True,
        ),
        ignored(
            "group.share.record.lock.duration.ms",
            Type.INT,
            default=30_000,
            at_least=1000,
            at_most=3_600_000,
        ),
        ignored("group.share.session.timeout.ms", Type.INT, default=45_000, at_least=1),
        ignored("share.coordinator.append.linger.ms", Type.INT, default=-1, at_least=-1),
        ignored(
            "share.coordinator.cached.buffer.max.bytes",
            Type.INT,
            default=1_048_588,
            scope=Scope.CLUSTER,
            at_least=524_288,
        ),
        ignored(
            "share.coordinator.cold.partition.snapshot.interval.ms",
            Type.INT,
            default=300_000,
            at_least=1,
            is_internal=True,
        ),
        ignored("share.coordinator.load.buffer.size", Type.INT, default=5_242_880, at_least=1),
        ignored(
            "share.coordinator.snapshot.update.records.per.snapshot",
            Type.INT,
            default=500,
            at_least=0,
            at_most=500,
        ),
        ignored("share.coordinator.state.topic.compression.codec", Type.INT, default=0),
        ignored("share.coordinator.state.topic.min.isr", Type.SHORT, default=2, at_least=1),
        ignored("share.coordinator.state.topic.num.partitions", Type.INT, default=50, at_least=1),
        ignored(
            "share.coordinator.state.topic.prune.interval.ms",
            Type.INT,
            default=300_000,
            at_least=1,
            is_internal=True,
        ),
        ignored(
            "share.coordinator.state.topic.replication.factor", Type.SHORT, default=3, at_least=1
        ),
        ignored(
            "share.coordinator.state.topic.segment.bytes", Type.INT, default=104_857_600, at_least=1
        ),
        ignored("share.coordinator.threads", Type.INT, default=1, at_least=1),
        ignored("share.coordinator.write.timeout.ms", Type.INT, default=5000, at_least=1),
        ignored("share.fetch.purgatory.purge.interval.requests", Type.INT, default=1000),
    ),
    no_effect(
        "streams groups are not supported",
        ignored(
            "group.streams.assignment.interval.ms",
            Type.INT,
            default=1000,
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        ignored("group.streams.heartbeat.interval.ms", Type.INT, default=5000, at_least=1),
        ignored("group.streams.initial.rebalance.delay.ms", Type.INT, default=3000, at_least=0),
        ignored("group.streams.max.assignment.interval.ms", Type.INT, default=15_000, at_least=0),
        ignored("group.streams.max.heartbeat.interval.ms", Type.INT, default=15_000, at_least=1),
        ignored("group.streams.max.session.timeout.ms", Type.INT, default=60_000, at_least=1),
        ignored("group.streams.max.size", Type.INT, default=INT32_MAX, at_least=1),
        ignored("group.streams.max.standby.replicas", Type.INT, default=2, at_least=0),
        ignored("group.streams.min.assignment.interval.ms", Type.INT, default=0, at_least=0),
        ignored("group.streams.min.heartbeat.interval.ms", Type.INT, default=5000, at_least=1),
        ignored("group.streams.min.session.timeout.ms", Type.INT, default=45_000, at_least=1),
        ignored("group.streams.num.standby.replicas", Type.INT, default=0, at_least=0),
        ignored("group.streams.session.timeout.ms", Type.INT, default=45_000, at_least=1),
    ),
    no_effect(
        "a coordinator writes each change at once, from the event loop",
        ignored("group.coordinator.append.linger.ms", Type.INT, default=-1, at_least=-1),
        ignored(
            "group.coordinator.cached.buffer.max.bytes",
            Type.INT,
            default=1_048_588,
            scope=Scope.CLUSTER,
            at_least=524_288,
        ),
        ignored("offsets.load.buffer.size", Type.INT, default=5_242_880, at_least=1),
        ignored("transaction.state.log.load.buffer.size", Type.INT, default=5_242_880, at_least=1),
    ),
    no_effect(
        "two-phase commit is not supported",
        ignored("transaction.two.phase.commit.enable", Type.BOOLEAN, default=False),
    ),
)
