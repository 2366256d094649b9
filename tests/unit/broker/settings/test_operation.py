"""What is Cordwood's own says so."""

from cordwood.broker.settings.operation import OPERATION
from cordwood.observability.logs import JSON, LEVELS, LOGFMT


def test_own_settings_are_told_by_their_names() -> None:
    assert all(setting.name.startswith("cordwood.") for setting in OPERATION)


def test_own_settings_know_the_forms_and_levels_of_events() -> None:
    assert OPERATION["cordwood.log.format"].one_of == (LOGFMT, JSON)
    assert OPERATION["cordwood.log.level"].one_of == tuple(LEVELS)
