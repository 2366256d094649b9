"""Settings of topic creation and deletion, and limits of requests about topics."""

from typing import Final

from cordwood.core.settings import Setting, SettingTable, SettingType

TOPICS: Final = SettingTable(
    (
        Setting(
            name="auto.create.topics.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc="Whether a missing topic is created when a client requests it.",
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
            doc="The number of partitions of a topic that is created without one.",
            at_least=1,
        ),
        Setting(
            name="default.replication.factor",
            type=SettingType.INT,
            default=1,
            doc="The replication factor of a topic that is created without one.",
        ),
        Setting(
            name="fetch.max.bytes",
            type=SettingType.INT,
            default=57_671_680,
            doc="The largest fetch response; one batch may exceed it.",
            at_least=1024,
        ),
        Setting(
            name="max.incremental.fetch.session.cache.slots",
            type=SettingType.INT,
            default=1000,
            doc="The highest number of incremental fetch sessions.",
            at_least=0,
        ),
        Setting(
            name="max.request.partition.size.limit",
            type=SettingType.INT,
            default=2000,
            doc="The highest number of partitions in one DescribeTopicPartitions response.",
            at_least=1,
        ),
    )
)
