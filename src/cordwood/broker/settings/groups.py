"""Consumer groups: sessions, sizes, and the topic that holds their offsets."""

from typing import Final

from cordwood.core.binary import INT32_MAX
from cordwood.core.settings import Scope, Setting, SettingTable, SettingType

GROUPS: Final = SettingTable(
    (
        Setting(
            name="group.min.session.timeout.ms",
            type=SettingType.INT,
            default=6000,
            doc="The shortest session that a member may ask for.",
        ),
        Setting(
            name="group.max.session.timeout.ms",
            type=SettingType.INT,
            default=1_800_000,
            doc="The longest session that a member may ask for.",
        ),
        Setting(
            name="group.initial.rebalance.delay.ms",
            type=SettingType.INT,
            default=3000,
            doc="How long the first rebalance of an empty group waits for more members.",
        ),
        Setting(
            name="group.max.size",
            type=SettingType.INT,
            default=INT32_MAX,
            doc="How many members a group may have.",
            at_least=1,
        ),
        Setting(
            name="group.coordinator.rebalance.protocols",
            type=SettingType.LIST,
            default=("classic", "consumer"),
            doc="Which kinds of groups are served.",
            one_of=("classic", "consumer"),
        ),
        Setting(
            name="group.coordinator.append.linger.ms",
            type=SettingType.INT,
            default=-1,
            doc="How long a coordinator gathers what it writes; -1 is as long as it is busy.",
            at_least=-1,
        ),
        Setting(
            name="group.coordinator.cached.buffer.max.bytes",
            type=SettingType.INT,
            default=1_048_588,
            doc="The largest buffer that a coordinator keeps for the next write.",
            scope=Scope.CLUSTER,
            at_least=524_288,
        ),
        Setting(
            name="group.consumer.session.timeout.ms",
            type=SettingType.INT,
            default=45_000,
            doc="The session of groups with the consumer protocol, where they do not say.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.min.session.timeout.ms",
            type=SettingType.INT,
            default=45_000,
            doc="The shortest session that such a group may ask for.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.max.session.timeout.ms",
            type=SettingType.INT,
            default=60_000,
            doc="The longest session that such a group may ask for.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.heartbeat.interval.ms",
            type=SettingType.INT,
            default=5000,
            doc="How often members of such a group are to report, where the group does not say.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.min.heartbeat.interval.ms",
            type=SettingType.INT,
            default=5000,
            doc="The shortest such interval that a group may ask for.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.max.heartbeat.interval.ms",
            type=SettingType.INT,
            default=15_000,
            doc="The longest such interval that a group may ask for.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.max.size",
            type=SettingType.INT,
            default=INT32_MAX,
            doc="How many members such a group may have.",
            at_least=1,
        ),
        Setting(
            name="group.consumer.assignors",
            type=SettingType.LIST,
            default=("uniform", "range"),
            doc="The broker's assignors, the first is taken where a group names none.",
        ),
        Setting(
            name="group.consumer.migration.policy",
            type=SettingType.STRING,
            default="bidirectional",
            doc="Which ways a group may change between the classic and the consumer protocol.",
            one_of=("disabled", "downgrade", "upgrade", "bidirectional"),
        ),
        Setting(
            name="group.consumer.assignment.interval.ms",
            type=SettingType.INT,
            default=1000,
            doc=(
                "How long after an assignment of such a group the next may come, where the group "
                "does not say."
            ),
            scope=Scope.CLUSTER,
            at_least=0,
        ),
        Setting(
            name="group.consumer.min.assignment.interval.ms",
            type=SettingType.INT,
            default=0,
            doc="The shortest such time that a group may ask for.",
            at_least=0,
        ),
        Setting(
            name="group.consumer.max.assignment.interval.ms",
            type=SettingType.INT,
            default=15_000,
            doc="The longest such time that a group may ask for.",
            at_least=0,
        ),
        Setting(
            name="offsets.retention.minutes",
            type=SettingType.INT,
            default=10_080,
            doc="How long offsets outlive the last member of their group.",
            at_least=1,
        ),
        Setting(
            name="offsets.retention.check.interval.ms",
            type=SettingType.LONG,
            default=600_000,
            doc="How often old offsets are looked for.",
            at_least=1,
        ),
        Setting(
            name="offset.metadata.max.bytes",
            type=SettingType.INT,
            default=4096,
            doc="The longest remark that may stand beside an offset.",
        ),
        Setting(
            name="offsets.commit.timeout.ms",
            type=SettingType.INT,
            default=5000,
            doc="How long a commit waits for the replicas.",
            at_least=1,
        ),
        Setting(
            name="offsets.load.buffer.size",
            type=SettingType.INT,
            default=5_242_880,
            doc="How many bytes are read at a time when offsets are loaded.",
            at_least=1,
        ),
        Setting(
            name="offsets.topic.num.partitions",
            type=SettingType.INT,
            default=50,
            doc="How many partitions the topic of offsets is made with; keep it once it is made.",
            at_least=1,
        ),
        Setting(
            name="offsets.topic.replication.factor",
            type=SettingType.SHORT,
            default=3,
            doc="How many replicas the topic of offsets is made with, as far as there are brokers.",
            at_least=1,
        ),
        Setting(
            name="offsets.topic.segment.bytes",
            type=SettingType.INT,
            default=104_857_600,
            doc="The segment size of the topic of offsets; small ones load fast.",
            at_least=1,
        ),
        Setting(
            name="offsets.topic.compression.codec",
            type=SettingType.INT,
            default=0,
            doc="The codec of the topic of offsets, as its number in a batch; 0 is none.",
        ),
    )
)
