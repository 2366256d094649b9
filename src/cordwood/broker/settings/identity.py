"""Settings of a broker's identity and log directories."""

from typing import Final

from cordwood.core.settings import Setting, SettingSynonym, SettingTable, SettingType

IDENTITY: Final = SettingTable(
    (
        Setting(
            name="node.id",
            type=SettingType.INT,
            default=1,
            doc="The broker's id, unique in the cluster.",
            at_least=0,
            synonyms=(SettingSynonym("broker.id"),),
        ),
        Setting(
            name="broker.rack",
            type=SettingType.STRING,
            default=None,
            doc="The broker's rack or availability zone; replicas are spread over racks.",
        ),
        Setting(
            name="log.dirs",
            type=SettingType.LIST,
            default=None,
            doc="The directories for logs. `log.dir` is used if this is not set, and "
            "`cordwood serve` uses `./cordwood-data` without both.",
            synonyms=(SettingSynonym("log.dir"),),
        ),
    )
)

#: Older names, which DescribeConfigs lists as settings of their own. `broker.id` has the value of
#: `node.id`.
ALIASES: Final = SettingTable(
    (
        Setting(
            name="broker.id",
            type=SettingType.INT,
            default=-1,
            doc="The broker's id; node.id is the newer name.",
        ),
        Setting(
            name="log.dir",
            type=SettingType.LIST,
            default=None,
            doc="The directories for logs if log.dirs is not set.",
        ),
    )
)
