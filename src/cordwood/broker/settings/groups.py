"""Settings of consumer groups and of the offsets topic (Kafka: `GroupCoordinatorConfig`)."""

from typing import Final

from cordwood.core.binary import INT32_MAX
from cordwood.core.settings import Setting, SettingScope, SettingTable, SettingType

GROUPS: Final = SettingTable(
    (
        Setting(
            name="group.min.session.timeout.ms",
            type=SettingType.INT,
            default=6000,
            doc="The shortest session timeout that a member may request.",
        ),
        Setting(
            name="group.max.session.timeout.ms",
            type=SettingType.INT,
            default=1_800_000,
            doc="The longest session timeout that a member may request.",
        ),
        Setting(
            name="group.initial.rebalance.delay.ms",
            type=SettingType.INT,
            default=3000,
            doc="The time that the first rebalance of an empty group waits for more members.",
        ),
        Setting(
            name="group.max.size",
            type=SettingType.INT,
            default=INT32_MAX,
            doc="The highest number of members of a group.",
            at_least=1,
        ),
        Setting(
            name="group.coordinator.rebalance.protocols",
            type=SettingType.LIST,
            default=("classic", "consumer"),
            doc="The supported group protocols.",
            one_of=("classic", "consumer"),
        ),
        Setting(
            name="group.consumer.session.timeout.ms",
            type=SettingType.INT,
            default=45_000,
            doc="The default session timeout of groups with the consumer protocol.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.min.session.timeout.ms",
            type=SettingType.INT,
            default=45_000,
            doc="The shortest session timeout that such a group may request.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.max.session.timeout.ms",
            type=SettingType.INT,
            default=60_000,
            doc="The longest session timeout that such a group may request.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.heartbeat.interval.ms",
            type=SettingType.INT,
            default=5000,
            doc="The default heartbeat interval of members of such a group.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.min.heartbeat.interval.ms",
            type=SettingType.INT,
            default=5000,
            doc="The shortest heartbeat interval that a group may request.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.max.heartbeat.interval.ms",
            type=SettingType.INT,
            default=15_000,
            doc="The longest heartbeat interval that a group may request.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.max.size",
            type=SettingType.INT,
            default=INT32_MAX,
            doc="The highest number of members of such a group.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.assignors",
            type=SettingType.LIST,
            default=("uniform", "range"),
            doc="The server-side assignors; the first one is the default of groups.",
        ),
        Setting(
            name="group.consumer.migration.policy",
            type=SettingType.STRING,
            default="bidirectional",
            doc="The allowed migrations of groups between the classic and the consumer protocol.",
            one_of=("disabled", "downgrade", "upgrade", "bidirectional"),
        ),
        Setting(
            name="group.consumer.assignment.interval.ms",
            type=SettingType.INT,
            default=1000,
            doc="The default for the shortest time between two assignments of such a group.",
            scope=SettingScope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="group.consumer.min.assignment.interval.ms",
            type=SettingType.INT,
            default=0,
            doc="The shortest such time that a group may request.",
            at_least=0,
        ),
        Setting(
            name="group.consumer.max.assignment.interval.ms",
            type=SettingType.INT,
            default=15_000,
            doc="The longest such time that a group may request.",
            at_least=0,
        ),
        Setting(
            name="group.consumer.regex.refresh.interval.ms",
            type=SettingType.INT,
            default=600_000,
            doc="The time after which the topics of a group's pattern are looked up again.",
            at_least=10_000,
            is_internal=True,
        ),
        Setting(
            name="offsets.retention.minutes",
            type=SettingType.INT,
            default=10_080,
            doc="The time that offsets are kept after the last member has left the group.",
            at_least=1,
        ),
        Setting(
            name="offsets.retention.check.interval.ms",
            type=SettingType.LONG,
            default=600_000,
            doc="The interval between removals of expired offsets.",
            at_least=1,
        ),
        Setting(
            name="offset.metadata.max.bytes",
            type=SettingType.INT,
            default=4096,
            doc="The largest metadata text of a committed offset.",
        ),
        Setting(
            name="offsets.commit.timeout.ms",
            type=SettingType.INT,
            default=5_000,
            doc="The time that a commit of offsets waits for the replicas of the offsets topic.",
            at_least=1,
        ),
        Setting(
            name="offsets.topic.num.partitions",
            type=SettingType.INT,
            default=50,
            doc=(
                "The number of partitions of the offsets topic; do not change it after its "
                "creation."
            ),
            at_least=1,
        ),
        Setting(
            name="offsets.topic.replication.factor",
            type=SettingType.SHORT,
            default=3,
            doc="The replication factor of the offsets topic; 1 on a broker without a cluster.",
            at_least=1,
        ),
        Setting(
            name="offsets.topic.segment.bytes",
            type=SettingType.INT,
            default=104_857_600,
            doc="The segment size of the offsets topic; small segments load fast.",
            at_least=1,
        ),
        Setting(
            name="offsets.topic.compression.codec",
            type=SettingType.INT,
            default=0,
            doc="The codec of the offsets topic, as its number in a batch; 0 is none.",
        ),
    )
)
