"""Settings of periodic log maintenance: retention, checkpoints, flushes, producer expiration."""

from typing import Final

from cordwood.core.binary import INT64_MAX
from cordwood.core.settings import Setting, SettingScope, SettingTable, SettingType

LOG_MAINTENANCE: Final = SettingTable(
    (
        Setting(
            name="num.recovery.threads.per.data.dir",
            type=SettingType.INT,
            default=2,
            doc=(
                "The number of threads per directory that load logs at startup and close them "
                "at shutdown."
            ),
            scope=SettingScope.CLUSTER,
            at_least=1,
        ),
        Setting(
            name="log.retention.check.interval.ms",
            type=SettingType.LONG,
            default=300_000,
            doc="The interval between retention checks.",
            at_least=1,
        ),
        Setting(
            name="log.flush.scheduler.interval.ms",
            type=SettingType.LONG,
            default=INT64_MAX,
            doc=(
                "The interval between checks for logs that are due for an fsync; the last "
                "default of flush.ms."
            ),
            at_least=1,
        ),
        Setting(
            name="log.flush.offset.checkpoint.interval.ms",
            type=SettingType.INT,
            default=60_000,
            doc="The interval between writes of the recovery point checkpoint.",
            at_least=1,
        ),
        Setting(
            name="log.flush.start.offset.checkpoint.interval.ms",
            type=SettingType.INT,
            default=60_000,
            doc="The interval between writes of the log start checkpoint.",
            at_least=1,
        ),
        Setting(
            name="replica.high.watermark.checkpoint.interval.ms",
            type=SettingType.LONG,
            default=5000,
            doc="The interval between writes of the high watermark checkpoint.",
            at_least=1,
        ),
        Setting(
            name="log.initial.task.delay.ms",
            type=SettingType.LONG,
            default=30_000,
            doc="The delay of the first maintenance tasks after startup.",
            at_least=0,
            is_internal=True,
        ),
        Setting(
            name="producer.id.expiration.ms",
            type=SettingType.INT,
            default=86_400_000,
            doc="The time after which the state of an inactive producer expires.",
            scope=SettingScope.CLUSTER,
            at_least=1,
        ),
        Setting(
            name="producer.id.expiration.check.interval.ms",
            type=SettingType.INT,
            default=600_000,
            doc="The interval between removals of expired producer state.",
            at_least=1,
            is_internal=True,
        ),
    )
)
