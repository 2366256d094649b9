"""Tests of the settings of TLS."""

import pytest

from cordwood.broker.settings.tls import TLS
from cordwood.core.errors import SettingError
from cordwood.core.settings import SettingType


def test_keystore_of_java_is_rejected_with_the_supported_formats() -> None:
    with pytest.raises(SettingError, match=r"'JKS', which is not accepted; use PEM"):
        TLS["ssl.keystore.type"].parse("JKS")


def test_keys_and_passwords_are_secrets() -> None:
    secrets = {each.name for each in TLS if each.type is SettingType.PASSWORD}

    assert secrets >= {"ssl.keystore.key", "ssl.key.password", "ssl.keystore.password"}
