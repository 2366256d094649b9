"""When a broker looks after its logs, and how: retention, checkpoints, flushes, producers."""

from typing import Final

from cordwood.core.binary import INT64_MAX
from cordwood.core.settings import Scope, Setting, SettingTable, SettingType

UPKEEP: Final = SettingTable(
    (
        Setting(
            name="num.recovery.threads.per.data.dir",
            type=SettingType.INT,
            default=2,
            doc="How many logs of a directory are opened at a time, or closed.",
            scope=Scope.CLUSTER,
            at_least=1,
        ),
        Setting(
            name="log.retention.check.interval.ms",
            type=SettingType.LONG,
            default=300_000,
            doc="How often old segments are looked for.",
            at_least=1,
        ),
        Setting(
            name="log.flush.scheduler.interval.ms",
            type=SettingType.LONG,
            default=INT64_MAX,
            doc=(
                "How often it is asked whether a log is due for a sync; the last word where "
                "flush.ms is not given."
            ),
            at_least=1,
        ),
        Setting(
            name="log.flush.offset.checkpoint.interval.ms",
            type=SettingType.INT,
            default=60_000,
            doc="How often the recovery points are written down.",
            at_least=1,
        ),
        Setting(
            name="log.flush.start.offset.checkpoint.interval.ms",
            type=SettingType.INT,
            default=60_000,
            doc="How often it is written down where logs start.",
            at_least=1,
        ),
        Setting(
            name="replica.high.watermark.checkpoint.interval.ms",
            type=SettingType.LONG,
            default=5000,
            doc="How often the high watermarks are written down.",
            at_least=1,
        ),
        Setting(
            name="log.initial.task.delay.ms",
            type=SettingType.LONG,
            default=30_000,
            doc="How long after the start this begins.",
            at_least=0,
        ),
        Setting(
            name="producer.id.expiration.ms",
            type=SettingType.INT,
            default=86_400_000,
            doc="How long a producer that writes nothing is remembered.",
            scope=Scope.CLUSTER,
            at_least=1,
        ),
        Setting(
            name="producer.id.expiration.check.interval.ms",
            type=SettingType.INT,
            default=600_000,
            doc="How often forgotten producers are looked for.",
            at_least=1,
        ),
    )
)
