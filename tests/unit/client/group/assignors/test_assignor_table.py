"""Assignors by name."""

import pytest

from cordwood.client.group.assignors.assignor_table import assignors_of
from cordwood.client.group.assignors.range_assignment import RANGE
from cordwood.client.group.assignors.sticky_assignment import COOPERATIVE_STICKY
from cordwood.core.errors import SettingError


def test_assignors_are_found_by_their_names_and_by_java_classes() -> None:
    java = "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"

    assert assignors_of(["range", java, "range"]) == (RANGE, COOPERATIVE_STICKY)


@pytest.mark.parametrize("names", ((), ("sticky",)))
def test_unknown_assignor_is_rejected_with_the_known_ones(names: tuple[str, ...]) -> None:
    with pytest.raises(SettingError, match="range, roundrobin, cooperative-sticky"):
        assignors_of(names)
