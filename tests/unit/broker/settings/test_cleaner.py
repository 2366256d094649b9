"""Compaction may be given other means while a broker runs, but not be switched off."""

from cordwood.broker.settings.cleaner import CLEANER
from cordwood.core.settings import Scope


def test_cleaner_changes_while_a_broker_runs_but_for_whether_there_is_one() -> None:
    fixed = [each.name for each in CLEANER if each.scope is not Scope.CLUSTER]

    assert fixed == ["log.cleaner.enable"]
