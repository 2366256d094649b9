"""Settings of the controller quorum and its log (Kafka: `QuorumConfig`, `KRaftConfigs`)."""

from typing import Final

from cordwood.broker.settings.ignored.ignored_settings import ignored, no_effect
from cordwood.core.binary import INT64_MAX
from cordwood.core.settings import SettingType as Type

CONTROLLER_QUORUM: Final = (
    no_effect(
        "there is no controller quorum",
        ignored("broker.heartbeat.interval.ms", Type.INT, default=2000),
        ignored("broker.session.timeout.ms", Type.INT, default=9000),
        ignored("controller.listener.names", Type.LIST),
        ignored(
            "controller.performance.always.log.threshold.ms",
            Type.LONG,
            default=2000,
            at_least=0,
            is_internal=True,
        ),
        ignored(
            "controller.performance.sample.period.ms",
            Type.LONG,
            default=60_000,
            at_least=100,
            is_internal=True,
        ),
        ignored("controller.quorum.append.linger.ms", Type.INT, default=25, at_least=0),
        ignored("controller.quorum.auto.join.enable", Type.BOOLEAN, default=False),
        ignored("controller.quorum.bootstrap.servers", Type.LIST, default=()),
        ignored("controller.quorum.election.backoff.max.ms", Type.INT, default=1000, at_least=0),
        ignored("controller.quorum.election.timeout.ms", Type.INT, default=1000, at_least=0),
        ignored("controller.quorum.fetch.max.bytes", Type.INT, default=1_048_576, at_least=1),
        ignored(
            "controller.quorum.fetch.snapshot.max.bytes", Type.INT, default=1_048_576, at_least=1
        ),
        ignored("controller.quorum.fetch.timeout.ms", Type.INT, default=2000, at_least=0),
        ignored("controller.quorum.request.timeout.ms", Type.INT, default=2000, at_least=0),
        ignored("controller.quorum.retry.backoff.ms", Type.INT, default=20, at_least=0),
        ignored("controller.quorum.voters", Type.LIST, default=()),
        ignored("early.start.listeners", Type.LIST),
        ignored("initial.broker.registration.timeout.ms", Type.INT, default=60_000),
        ignored(
            "internal.metadata.delete.delay.millis", Type.LONG, default=60_000, is_internal=True
        ),
        ignored("internal.metadata.log.segment.bytes", Type.INT, is_internal=True),
        ignored(
            "internal.metadata.max.batch.size.in.bytes",
            Type.INT,
            default=8_388_608,
            is_internal=True,
        ),
        ignored("log.dir.failure.timeout.ms", Type.LONG, default=30_000, at_least=1),
        ignored("metadata.log.dir", Type.STRING),
        ignored(
            "metadata.log.max.record.bytes.between.snapshots",
            Type.LONG,
            default=20_971_520,
            at_least=1,
        ),
        ignored("metadata.log.max.snapshot.interval.ms", Type.LONG, default=3_600_000, at_least=0),
        ignored("metadata.log.segment.bytes", Type.INT, default=1_073_741_824, at_least=8_388_608),
        ignored("metadata.log.segment.ms", Type.LONG, default=604_800_000),
        ignored("metadata.max.idle.interval.ms", Type.INT, default=500, at_least=0),
        ignored("metadata.max.retention.bytes", Type.LONG, default=104_857_600),
        ignored("metadata.max.retention.ms", Type.LONG, default=604_800_000),
        ignored("process.roles", Type.LIST, one_of=("broker", "controller")),
        ignored("sasl.mechanism.controller.protocol", Type.STRING, default="GSSAPI"),
        ignored(
            "server.max.startup.time.ms", Type.LONG, default=INT64_MAX, at_least=0, is_internal=True
        ),
        ignored(
            "unclean.leader.election.interval.ms",
            Type.LONG,
            default=300_000,
            at_least=1,
            is_internal=True,
        ),
    ),
)
