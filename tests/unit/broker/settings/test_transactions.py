"""Tests of the settings of transactions."""

from cordwood.broker.settings.transactions import TRANSACTIONS
from cordwood.core.settings import SettingScope


def test_verification_may_be_switched_while_a_broker_runs() -> None:
    assert TRANSACTIONS["transaction.partition.verification.enable"].scope is SettingScope.CLUSTER
    assert TRANSACTIONS["transaction.max.timeout.ms"].scope is SettingScope.STATIC
