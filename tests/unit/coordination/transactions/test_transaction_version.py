"""Levels of `transaction.version` by request version."""

import pytest

from cordwood.coordination.transactions import transaction_version


@pytest.mark.parametrize(("version", "level"), ((0, 0), (3, 0), (4, 0), (5, 2)))
def test_end_txn_raises_the_epoch_from_version_5_on(version: int, level: int) -> None:
    assert transaction_version.end_txn_level(version) == level


@pytest.mark.parametrize(("version", "level"), ((0, 0), (3, 0), (4, 2), (5, 2)))
def test_add_partitions_is_of_brokers_from_version_4_on(version: int, level: int) -> None:
    assert transaction_version.add_partitions_level(version) == level


@pytest.mark.parametrize(("level", "version"), ((0, 0), (1, 1), (2, 1)))
def test_records_are_flexible_from_level_1_on(level: int, version: int) -> None:
    assert transaction_version.record_version(level) == version


@pytest.mark.parametrize(("level", "bumps"), ((0, False), (1, False), (2, True)))
def test_epoch_is_raised_from_level_2_on(level: int, *, bumps: bool) -> None:
    assert transaction_version.supports_epoch_bump(level) is bumps
