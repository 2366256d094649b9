"""Settings of a membership."""

from cordwood.client.group.assignors.assignor_table import assignors_of
from cordwood.client.group.membership_config import MembershipConfig


def test_group_is_cooperative_only_if_all_assignors_are() -> None:
    def config(*names: str) -> MembershipConfig:
        return MembershipConfig(group_id="g", assignors=assignors_of(names))

    assert config("cooperative-sticky").is_cooperative
    assert not config("range", "cooperative-sticky").is_cooperative
    assert not MembershipConfig(group_id="g").is_cooperative


def test_join_may_take_the_rebalance_timeout_and_five_seconds() -> None:
    assert MembershipConfig(group_id="g", max_poll_interval_ms=60_000).join_timeout_ms == 65_000
    assert MembershipConfig(group_id="g", max_poll_interval_ms=1_000).join_timeout_ms == 30_000
