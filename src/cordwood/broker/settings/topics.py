"""How topics come to be and go, and how much one request may read of them."""

from typing import Final

from cordwood.core.settings import Setting, SettingTable, SettingType

TOPICS: Final = SettingTable(
    (
        Setting(
            name="auto.create.topics.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether a topic that somebody asks for is made.",
        ),
        Setting(
            name="delete.topic.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether topics may be deleted.",
        ),
        Setting(
            name="num.partitions",
            type=SettingType.INT,
            default=1,
            doc="How many partitions a topic has, where its maker does not say.",
            at_least=1,
        ),
        Setting(
            name="default.replication.factor",
            type=SettingType.INT,
            default=1,
            doc="How many replicas a partition has, where its topic's maker does not say.",
        ),
        Setting(
            name="fetch.max.bytes",
            type=SettingType.INT,
            default=57_671_680,
            doc="The most bytes that one fetch is answered with, one batch aside.",
            at_least=1024,
        ),
        Setting(
            name="max.incremental.fetch.session.cache.slots",
            type=SettingType.INT,
            default=1000,
            doc="How many fetch sessions are kept at a time.",
            at_least=0,
        ),
        Setting(
            name="max.request.partition.size.limit",
            type=SettingType.INT,
            default=2000,
            doc="The most partitions that one description of topics is answered with.",
            at_least=1,
        ),
    )
)
