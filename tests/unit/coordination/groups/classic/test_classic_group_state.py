"""A group changes its state along the arrows of the protocol."""

import pytest

from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState

ALLOWED = {
    "Empty": {"PreparingRebalance"},
    "PreparingRebalance": {"Empty", "CompletingRebalance", "Stable"},
    "CompletingRebalance": {"PreparingRebalance"},
    "Stable": {"CompletingRebalance"},
    "Dead": {"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"},
}


@pytest.mark.parametrize("state", ClassicGroupState)
def test_state_follows_its_valid_previous_states(state: ClassicGroupState) -> None:
    followed = {each.value for each in ClassicGroupState if state.can_follow(each)}

    assert followed == ALLOWED[state.value]
