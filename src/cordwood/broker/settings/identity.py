"""Who a broker is and where its logs lie."""

from typing import Final

from cordwood.core.settings import Setting, SettingTable, SettingType, Synonym

IDENTITY: Final = SettingTable(
    (
        Setting(
            name="node.id",
            type=SettingType.INT,
            default=1,
            doc="The broker's number, alone of its kind in the cluster.",
            at_least=0,
            synonyms=(Synonym("broker.id"),),
        ),
        Setting(
            name="broker.rack",
            type=SettingType.STRING,
            default=None,
            doc="The rack, zone or room the broker stands in; replicas are spread over these.",
        ),
        Setting(
            name="log.dirs",
            type=SettingType.LIST,
            default=(),
            doc="The directories that hold the logs; log.dir is read where this is not given.",
            synonyms=(Synonym("log.dir"),),
        ),
    )
)
