"""Tests of the protocol between brokers, as settings and registrations show it."""

import pytest

from cordwood.core.errors import SettingError
from cordwood.core.settings import SettingSource
from cordwood.node.inter_broker_protocol import SETTING, ensure_protocol, ensure_registrations


def given(text: str) -> list[SettingSource]:
    return [SettingSource("environment", {}), SettingSource("server.properties", {SETTING: text})]


@pytest.mark.parametrize("text", ("", "3.4", "3.4-IV0", "3.9", " 3.8 ", "3.9.1"))
def test_supported_protocols_are_accepted(text: str) -> None:
    ensure_protocol(given(text))


@pytest.mark.parametrize("text", ("3.3", "2.8", "2.7-IV2", "0.11.0", "4.0", "latest", "3"))
def test_other_protocols_are_refused_with_those_that_work(text: str) -> None:
    with pytest.raises(SettingError, match=r"inter\.broker\.protocol\.version.* 3\.4 to 3\.9"):
        ensure_protocol(given(text))


def test_registrations_with_features_are_accepted() -> None:
    ensure_protocol([])
    ensure_registrations({1: 5, 2: 5})


def test_registration_without_features_is_refused_by_name() -> None:
    with pytest.raises(SettingError, match=r"broker 2 .*inter\.broker\.protocol\.version"):
        ensure_registrations({1: 5, 2: 4})
