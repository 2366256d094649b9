"""What a broker's settings say for those who look after its logs, made in one place each."""

from cordwood.broker.configs import BrokerConfigs
from cordwood.storage.producers import ProducerSettings
from cordwood.storage.stock import ManagerSettings
from cordwood.storage.upkeep import UpkeepSettings


def producer_settings(configs: BrokerConfigs) -> ProducerSettings:
    """Return what is remembered of producers; it changes with `PRODUCER_KEYS`."""
    return ProducerSettings(
        id_expiration_ms=configs.integer("producer.id.expiration.ms"),
        is_verifying_transactions=configs.boolean("transaction.partition.verification.enable"),
        max_transaction_timeout_ms=configs.integer("transaction.max.timeout.ms"),
    )


def manager_settings(configs: BrokerConfigs) -> ManagerSettings:
    """Return what the manager of logs needs; topics are asked for live."""
    return ManagerSettings(
        config_for=configs.config_for,
        producers=producer_settings(configs),
        delete_delay_ms=configs.integer("log.segment.delete.delay.ms"),
    )


def upkeep_settings(configs: BrokerConfigs) -> UpkeepSettings:
    """Return the intervals of upkeep, which do not change while a broker runs."""
    return UpkeepSettings(
        first_turn_ms=configs.integer("log.initial.task.delay.ms"),
        retention_check_interval_ms=configs.integer("log.retention.check.interval.ms"),
        flush_check_interval_ms=configs.integer("log.flush.scheduler.interval.ms"),
        recovery_point_interval_ms=configs.integer("log.flush.offset.checkpoint.interval.ms"),
        log_start_interval_ms=configs.integer("log.flush.start.offset.checkpoint.interval.ms"),
        high_watermark_interval_ms=configs.integer("replica.high.watermark.checkpoint.interval.ms"),
        producer_check_interval_ms=configs.integer("producer.id.expiration.check.interval.ms"),
    )
