"""Settings of the quotas of clients and connections (Kafka: `QuotaConfig`)."""

from typing import Final

from cordwood.core.binary import INT32_MAX
from cordwood.core.settings import Setting, SettingScope, SettingTable, SettingType

QUOTAS: Final = SettingTable(
    (
        Setting(
            name="quota.window.num",
            type=SettingType.INT,
            default=11,
            doc="The number of windows over which a client's rate is measured.",
            at_least=1,
        ),
        Setting(
            name="quota.window.size.seconds",
            type=SettingType.INT,
            default=1,
            doc="The length of such a window.",
            at_least=1,
        ),
        Setting(
            name="controller.quota.window.num",
            type=SettingType.INT,
            default=11,
            doc="The number of windows over which the rate of topic changes is measured.",
            at_least=1,
        ),
        Setting(
            name="controller.quota.window.size.seconds",
            type=SettingType.INT,
            default=1,
            doc="The length of such a window.",
            at_least=1,
        ),
        Setting(
            name="max.connection.creation.rate",
            type=SettingType.INT,
            default=INT32_MAX,
            doc="The new connections per second, over all listeners or on one listener.",
            scope=SettingScope.CLUSTER,
            at_least=0,
        ),
    )
)
