"""Settings of transactions and of the transaction topic (Kafka: `TransactionLogConfig`)."""

from typing import Final

from cordwood.core.settings import Setting, SettingScope, SettingTable, SettingType

TRANSACTIONS: Final = SettingTable(
    (
        Setting(
            name="transaction.max.timeout.ms",
            type=SettingType.INT,
            default=900_000,
            doc="The longest transaction timeout that a producer may request.",
            at_least=1,
        ),
        Setting(
            name="transaction.abort.timed.out.transaction.cleanup.interval.ms",
            type=SettingType.INT,
            default=10_000,
            doc="The interval between aborts of timed-out transactions.",
            at_least=1,
        ),
        Setting(
            name="transactional.id.expiration.ms",
            type=SettingType.INT,
            default=604_800_000,
            doc="The time after which an unused transactional id expires.",
            at_least=1,
        ),
        Setting(
            name="transaction.remove.expired.transaction.cleanup.interval.ms",
            type=SettingType.INT,
            default=3_600_000,
            doc="The interval between removals of expired transactional ids.",
            at_least=1,
        ),
        Setting(
            name="transaction.partition.verification.enable",
            type=SettingType.BOOLEAN,
            default=True,
            doc=(
                "Whether a leader verifies a transaction with the coordinator before its first "
                "batch."
            ),
            scope=SettingScope.CLUSTER,
        ),
        Setting(
            name="add.partitions.to.txn.retry.backoff.ms",
            type=SettingType.INT,
            default=20,
            doc="The backoff of a leader between verifications with the coordinator.",
            at_least=1,
        ),
        Setting(
            name="add.partitions.to.txn.retry.backoff.max.ms",
            type=SettingType.INT,
            default=100,
            doc="The total time of these retries before the producer gets an error.",
            at_least=0,
        ),
        Setting(
            name="transaction.state.log.num.partitions",
            type=SettingType.INT,
            default=50,
            doc=(
                "The number of partitions of the transaction topic; do not change it after its "
                "creation."
            ),
            at_least=1,
        ),
        Setting(
            name="transaction.state.log.replication.factor",
            type=SettingType.SHORT,
            default=3,
            doc="The replication factor of the transaction topic; 1 on a broker without a cluster.",
            at_least=1,
        ),
        Setting(
            name="transaction.state.log.min.isr",
            type=SettingType.INT,
            default=2,
            doc="The in-sync replicas that a write to the transaction topic needs.",
            at_least=1,
        ),
        Setting(
            name="transaction.state.log.segment.bytes",
            type=SettingType.INT,
            default=104_857_600,
            doc="The segment size of the transaction topic; small segments load fast.",
            at_least=1,
        ),
    )
)
