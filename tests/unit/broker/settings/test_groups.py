"""Tests of the settings of consumer groups."""

import pytest

from cordwood.broker.settings.groups import GROUPS
from cordwood.core.errors import SettingError


def test_unsupported_group_protocol_is_rejected() -> None:
    with pytest.raises(SettingError, match="but 'streams' is not accepted"):
        GROUPS["group.coordinator.rebalance.protocols"].parse("classic,streams")


def test_default_of_a_group_is_between_its_bounds() -> None:
    for kind in ("session.timeout", "heartbeat.interval", "assignment.interval"):
        least, default, most = (
            GROUPS[f"group.consumer.{which}{kind}.ms"].default for which in ("min.", "", "max.")
        )

        assert isinstance(least, int)
        assert isinstance(default, int)
        assert isinstance(most, int)
        assert least <= default <= most
