"""Settings of tiered storage (Kafka: `RemoteLogManagerConfig`)."""

from typing import Final

from cordwood.broker.settings.ignored.ignored_settings import ignored, no_effect
from cordwood.core.binary import INT64_MAX
from cordwood.core.settings import SettingScope as Scope
from cordwood.core.settings import SettingType as Type

REMOTE_STORAGE: Final = (
    no_effect(
        "remote storage is not supported",
        ignored(
            "follower.fetch.last.tiered.offset.enable",
            Type.BOOLEAN,
            default=False,
            scope=Scope.CLUSTER,
        ),
        ignored("remote.fetch.max.wait.ms", Type.INT, default=500, scope=Scope.CLUSTER, at_least=1),
        ignored(
            "remote.list.offsets.request.timeout.ms",
            Type.LONG,
            default=30_000,
            scope=Scope.CLUSTER,
            at_least=1,
        ),
        ignored(
            "remote.log.index.file.cache.total.size.bytes",
            Type.LONG,
            default=1_073_741_824,
            scope=Scope.CLUSTER,
            at_least=1,
        ),
        ignored(
            "remote.log.index.file.cache.ttl.ms",
            Type.LONG,
            default=900_000,
            at_least=-1,
            is_internal=True,
        ),
        ignored(
            "remote.log.manager.copier.thread.pool.size",
            Type.INT,
            default=10,
            scope=Scope.CLUSTER,
            at_least=1,
        ),
        ignored(
            "remote.log.manager.copy.max.bytes.per.second",
            Type.LONG,
            default=INT64_MAX,
            scope=Scope.CLUSTER,
            at_least=1,
        ),
        ignored("remote.log.manager.copy.quota.window.num", Type.INT, default=11, at_least=1),
        ignored(
            "remote.log.manager.copy.quota.window.size.seconds", Type.INT, default=1, at_least=1
        ),
        ignored(
            "remote.log.manager.expiration.thread.pool.size",
            Type.INT,
            default=10,
            scope=Scope.CLUSTER,
            at_least=1,
        ),
        ignored(
            "remote.log.manager.fetch.max.bytes.per.second",
            Type.LONG,
            default=INT64_MAX,
            scope=Scope.CLUSTER,
            at_least=1,
        ),
        ignored("remote.log.manager.fetch.quota.window.num", Type.INT, default=11, at_least=1),
        ignored(
            "remote.log.manager.fetch.quota.window.size.seconds", Type.INT, default=1, at_least=1
        ),
        ignored(
            "remote.log.manager.follower.thread.pool.size",
            Type.INT,
            default=2,
            scope=Scope.CLUSTER,
            at_least=1,
        ),
        ignored("remote.log.manager.task.interval.ms", Type.LONG, default=30_000, at_least=1),
        ignored(
            "remote.log.manager.task.retry.backoff.max.ms",
            Type.LONG,
            default=30_000,
            at_least=1,
            is_internal=True,
        ),
        ignored(
            "remote.log.manager.task.retry.backoff.ms",
            Type.LONG,
            default=500,
            at_least=1,
            is_internal=True,
        ),
        ignored(
            "remote.log.manager.task.retry.jitter",
            Type.DOUBLE,
            default=0.2,
            at_least=0,
            at_most=0.5,
            is_internal=True,
        ),
        ignored("remote.log.manager.thread.pool.size", Type.INT, default=2, at_least=1),
        ignored("remote.log.metadata.custom.metadata.max.bytes", Type.INT, default=128, at_least=0),
        ignored(
            "remote.log.metadata.manager.class.name",
            Type.STRING,
            default="org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
        ),
        ignored("remote.log.metadata.manager.class.path", Type.STRING),
        ignored("remote.log.metadata.manager.impl.prefix", Type.STRING, default="rlmm.config."),
        ignored("remote.log.metadata.manager.listener.name", Type.STRING),
        ignored("remote.log.reader.max.pending.tasks", Type.INT, default=100, at_least=1),
        ignored("remote.log.reader.threads", Type.INT, default=10, scope=Scope.CLUSTER, at_least=1),
        ignored("remote.log.storage.manager.class.name", Type.STRING),
        ignored("remote.log.storage.manager.class.path", Type.STRING),
        ignored("remote.log.storage.manager.impl.prefix", Type.STRING, default="rsm.config."),
        ignored("remote.log.storage.system.enable", Type.BOOLEAN, default=False),
    ),
)
