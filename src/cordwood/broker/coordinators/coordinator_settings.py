"""Settings of the coordinators, from the configuration of the broker.

Kafka: `GroupCoordinatorConfig`, `TransactionLogConfig`, `TransactionStateManagerConfig`.
"""

from typing import Final

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.core.settings import SettingValue
from cordwood.records.compression import Codec

_MINUTE_MS: Final = 60_000

#: The settings of groups that a running broker may change.
DYNAMIC_GROUP_SETTINGS: Final = ("group.consumer.assignment.interval.ms",)


def group_settings(configs: BrokerConfigs) -> GroupSettings:
    """Return the present settings of groups."""
    number = configs.integer
    return GroupSettings(
        min_session_timeout_ms=number("group.min.session.timeout.ms"),
        max_session_timeout_ms=number("group.max.session.timeout.ms"),
        initial_rebalance_delay_ms=number("group.initial.rebalance.delay.ms"),
        max_size=number("group.max.size"),
        consumer_session_timeout_ms=number("group.consumer.session.timeout.ms"),
        consumer_min_session_timeout_ms=number("group.consumer.min.session.timeout.ms"),
        consumer_max_session_timeout_ms=number("group.consumer.max.session.timeout.ms"),
        consumer_heartbeat_interval_ms=number("group.consumer.heartbeat.interval.ms"),
        consumer_min_heartbeat_interval_ms=number("group.consumer.min.heartbeat.interval.ms"),
        consumer_max_heartbeat_interval_ms=number("group.consumer.max.heartbeat.interval.ms"),
        consumer_assignment_interval_ms=number("group.consumer.assignment.interval.ms"),
        consumer_min_assignment_interval_ms=number("group.consumer.min.assignment.interval.ms"),
        consumer_max_assignment_interval_ms=number("group.consumer.max.assignment.interval.ms"),
        consumer_max_size=number("group.consumer.max.size"),
        consumer_assignors=_texts(configs.value("group.consumer.assignors")),
        consumer_migration_policy=configs.text("group.consumer.migration.policy"),
        consumer_regex_refresh_interval_ms=number("group.consumer.regex.refresh.interval.ms"),
        offsets_retention_ms=number("offsets.retention.minutes") * _MINUTE_MS,
        offsets_retention_check_interval_ms=number("offsets.retention.check.interval.ms"),
        offset_metadata_max_bytes=number("offset.metadata.max.bytes"),
    )


def transaction_settings(configs: BrokerConfigs) -> TransactionSettings:
    """Return the settings of transactions, which are static."""
    number = configs.integer
    return TransactionSettings(
        max_timeout_ms=number("transaction.max.timeout.ms"),
        abort_timed_out_interval_ms=number(
            "transaction.abort.timed.out.transaction.cleanup.interval.ms"
        ),
        id_expiration_ms=number("transactional.id.expiration.ms"),
        remove_expired_interval_ms=number(
            "transaction.remove.expired.transaction.cleanup.interval.ms"
        ),
    )


def offsets_codec(configs: BrokerConfigs) -> Codec:
    """Return the codec of the batches of `__consumer_offsets`."""
    return Codec(configs.integer("offsets.topic.compression.codec"))


def _texts(value: SettingValue) -> tuple[str, ...]:
    assert isinstance(value, tuple)
    return value
