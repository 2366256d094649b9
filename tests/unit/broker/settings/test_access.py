"""Who may come in."""

import pytest

from cordwood.broker.settings.access import ACCESS
from cordwood.core.errors import SettingError


def test_mechanism_that_is_not_served_is_refused() -> None:
    mechanisms = ACCESS["sasl.enabled.mechanisms"]

    assert mechanisms.parse("PLAIN,SCRAM-SHA-256") == ("PLAIN", "SCRAM-SHA-256")
    with pytest.raises(SettingError, match="GSSAPI, which it does not know"):
        mechanisms.parse("GSSAPI")
