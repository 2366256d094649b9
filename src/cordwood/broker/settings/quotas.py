"""Quotas: over which time rates are taken, and the throttles of replicas."""

from typing import Final

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.core.settings import Scope, Setting, SettingTable, SettingType

QUOTAS: Final = SettingTable(
    (
        Setting(
            name="quota.window.num",
            type=SettingType.INT,
            default=11,
            doc="Over how many windows a client's rate is taken.",
            at_least=1,
        ),
        Setting(
            name="quota.window.size.seconds",
            type=SettingType.INT,
            default=1,
            doc="How long such a window is.",
            at_least=1,
        ),
        Setting(
            name="replication.quota.window.num",
            type=SettingType.INT,
            default=11,
            doc="Over how many windows the rate of replication is taken.",
            at_least=1,
        ),
        Setting(
            name="replication.quota.window.size.seconds",
            type=SettingType.INT,
            default=1,
            doc="How long such a window is.",
            at_least=1,
        ),
        Setting(
            name="controller.quota.window.num",
            type=SettingType.INT,
            default=11,
            doc="Over how many windows the rate of changes to topics is taken.",
            at_least=1,
        ),
        Setting(
            name="controller.quota.window.size.seconds",
            type=SettingType.INT,
            default=1,
            doc="How long such a window is.",
            at_least=1,
        ),
        Setting(
            name="alter.log.dirs.replication.quota.window.num",
            type=SettingType.INT,
            default=11,
            doc="Over how many windows the rate of moves between directories is taken.",
            at_least=1,
        ),
        Setting(
            name="alter.log.dirs.replication.quota.window.size.seconds",
            type=SettingType.INT,
            default=1,
            doc="How long such a window is.",
            at_least=1,
        ),
        Setting(
            name="leader.replication.throttled.rate",
            type=SettingType.LONG,
            default=INT64_MAX,
            doc="How many bytes a second leaders send to followers that are throttled.",
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="follower.replication.throttled.rate",
            type=SettingType.LONG,
            default=INT64_MAX,
            doc="How many bytes a second followers that are throttled take.",
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="replica.alter.log.dirs.io.max.bytes.per.second",
            type=SettingType.LONG,
            default=INT64_MAX,
            doc="How many bytes a second logs move between directories.",
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="num.replica.alter.log.dirs.threads",
            type=SettingType.INT,
            default=None,
            doc=(
                "How many logs move between directories at a time; as many as directories where "
                "not given."
            ),
        ),
        Setting(
            name="max.connection.creation.rate",
            type=SettingType.INT,
            default=INT32_MAX,
            doc="How many connections a second are taken, over all listeners or on one.",
            scope=Scope.CLUSTER,
            at_least=0,
        ),
    )
)
