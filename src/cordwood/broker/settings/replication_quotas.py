"""Settings of replication throttles (Kafka: `ReplicationQuotaManagerConfig`, `DynamicConfig`).

A throttle has a limit at each broker, and lists of replicas at each topic; see
`cluster.partition.replication_quota_manager`.
"""

from typing import Final

from cordwood.core.binary import INT64_MAX
from cordwood.core.settings import Setting, SettingScope, SettingTable, SettingType

REPLICATION_QUOTAS: Final = SettingTable(
    (
        Setting(
            name="replication.quota.window.num",
            type=SettingType.INT,
            default=11,
            doc="The number of windows over which the replication rate is measured.",
            at_least=1,
        ),
        Setting(
            name="replication.quota.window.size.seconds",
            type=SettingType.INT,
            default=1,
            doc="The length of such a window.",
            at_least=1,
        ),
        Setting(
            name="alter.log.dirs.replication.quota.window.num",
            type=SettingType.INT,
            default=11,
            doc=(
                "The number of windows over which the rate of moves between directories is "
                "measured."
            ),
            at_least=1,
        ),
        Setting(
            name="alter.log.dirs.replication.quota.window.size.seconds",
            type=SettingType.INT,
            default=1,
            doc="The length of such a window.",
            at_least=1,
        ),
        Setting(
            name="leader.replication.throttled.rate",
            type=SettingType.LONG,
            default=INT64_MAX,
            doc="The bytes per second that leaders send to throttled followers.",
            scope=SettingScope.CLUSTER,
            at_least=0,
            is_internal=True,
        ),
        Setting(
            name="follower.replication.throttled.rate",
            type=SettingType.LONG,
            default=INT64_MAX,
            doc="The bytes per second that throttled followers receive.",
            scope=SettingScope.CLUSTER,
            at_least=0,
            is_internal=True,
        ),
        Setting(
            name="replica.alter.log.dirs.io.max.bytes.per.second",
            type=SettingType.LONG,
            default=INT64_MAX,
            doc="The bytes per second that logs move between directories.",
            scope=SettingScope.CLUSTER,
            at_least=0,
            is_internal=True,
        ),
        Setting(
            name="num.replica.alter.log.dirs.threads",
            type=SettingType.INT,
            default=None,
            doc=(
                "The number of logs that move between directories at a time; the number of "
                "directories if not set."
            ),
        ),
    )
)
