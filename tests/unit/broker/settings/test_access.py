"""Tests of the settings of access control."""

import pytest

from cordwood.broker.settings.access import ACCESS
from cordwood.core.errors import SettingError


def test_unsupported_mechanism_is_rejected() -> None:
    mechanisms = ACCESS["sasl.enabled.mechanisms"]

    assert mechanisms.parse("PLAIN,SCRAM-SHA-256") == ("PLAIN", "SCRAM-SHA-256")
    with pytest.raises(SettingError, match="'GSSAPI', which is not accepted"):
        mechanisms.parse("GSSAPI")
