"""Which kinds of groups are served."""

import pytest

from cordwood.broker.settings.groups import GROUPS
from cordwood.core.errors import SettingError


def test_kind_of_group_that_is_not_served_is_refused() -> None:
    with pytest.raises(SettingError, match="streams, which it does not know"):
        GROUPS["group.coordinator.rebalance.protocols"].parse("classic,streams")


def test_default_of_a_group_lies_between_its_bounds() -> None:
    for kind in ("session.timeout", "heartbeat.interval", "assignment.interval"):
        least, default, most = (
            GROUPS[f"group.consumer.{which}{kind}.ms"].default for which in ("min.", "", "max.")
        )

        assert isinstance(least, int)
        assert isinstance(default, int)
        assert isinstance(most, int)
        assert least <= default <= most
