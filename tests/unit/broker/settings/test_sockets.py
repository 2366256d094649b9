"""Numbers of connections for some addresses."""

import pytest

from cordwood.broker.settings.sockets import SOCKETS
from cordwood.core.errors import SettingError

OVERRIDES = SOCKETS["max.connections.per.ip.overrides"]


@pytest.mark.parametrize("text", ("", "10.0.0.1:5", "host.example:0,[::1]:7", "a:1, b:2"))
def test_overrides_are_hosts_with_numbers(text: str) -> None:
    assert OVERRIDES.parse(text) == text


@pytest.mark.parametrize("text", ("10.0.0.1", "a:b", "a:1,,b:2", "::1:5"))
def test_overrides_of_another_form_are_refused(text: str) -> None:
    with pytest.raises(SettingError, match="where host:number belongs"):
        OVERRIDES.parse(text)
