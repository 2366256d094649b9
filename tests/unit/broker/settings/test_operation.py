"""Tests of the settings of monitoring and logging."""

import pytest

from cordwood.broker.settings.operation import METRICS_LISTENER, OPERATION, page_address
from cordwood.core.address import Address
from cordwood.core.errors import SettingError
from cordwood.observability.log_lines import JSON, LOGFMT
from cordwood.observability.logs import LEVELS


def test_own_settings_begin_with_cordwood() -> None:
    assert all(setting.name.startswith("cordwood.") for setting in OPERATION)


def test_own_settings_check_log_formats_and_levels() -> None:
    assert OPERATION["cordwood.log.format"].one_of == (LOGFMT, JSON)
    assert OPERATION["cordwood.log.level"].one_of == tuple(LEVELS)


@pytest.mark.parametrize(
    ("text", "where"), (("", None), ("[::1]:0", Address("::1", 0)), ("h:9100", Address("h", 9100)))
)
def test_pages_are_served_at_the_configured_address(text: str, where: Address | None) -> None:
    assert page_address(text) == where
    assert OPERATION[METRICS_LISTENER].parse(text) == text


@pytest.mark.parametrize("text", (":9100", "9100", "h:x", "h:65536"))
def test_invalid_metrics_listener_is_rejected_before_the_start(text: str) -> None:
    with pytest.raises(SettingError, match="is not host:port"):
        OPERATION[METRICS_LISTENER].parse(text)
