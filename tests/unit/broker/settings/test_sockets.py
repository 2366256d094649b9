"""Tests of the settings of sockets."""

import pytest

from cordwood.broker.settings.sockets import SOCKETS, numbers_by_address
from cordwood.core.errors import SettingError

OVERRIDES = SOCKETS["max.connections.per.ip.overrides"]


@pytest.mark.parametrize("text", ("", "10.0.0.1:5", "10.0.0.1:0,[::1]:7", "::1:5"))
def test_overrides_are_addresses_with_numbers(text: str) -> None:
    assert OVERRIDES.parse(text) == text


@pytest.mark.parametrize("text", ("10.0.0.1", "10.0.0.1:b", "10.0.0.1:1,,::1:2", "host.example:5"))
def test_invalid_overrides_are_rejected(text: str) -> None:
    with pytest.raises(SettingError, match="instead of address:number"):
        OVERRIDES.parse(text)


def test_overrides_are_found_by_address() -> None:
    assert numbers_by_address("10.0.0.1:5, [::1]:7,::2:0") == {"10.0.0.1": 5, "::1": 7, "::2": 0}
    assert numbers_by_address("") == {}
