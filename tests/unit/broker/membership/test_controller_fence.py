"""Tests of the fence against earlier controllers."""

import pytest

from cordwood.broker.membership.controller_fence import UNKNOWN_BROKER_EPOCH, ControllerFence
from cordwood.core.errors import StaleBrokerEpochError, StaleControllerEpochError


def fence(broker_epoch: int = 50) -> ControllerFence:
    return ControllerFence(lambda: broker_epoch)


def test_request_of_an_earlier_controller_is_rejected() -> None:
    known = fence()
    known.admit(controller_epoch=4, broker_epoch=50, connection_id=1)

    with pytest.raises(StaleControllerEpochError, match="the latest controller has 4"):
        known.admit(controller_epoch=3, broker_epoch=50, connection_id=1)

    known.admit(controller_epoch=4, broker_epoch=50, connection_id=1)
    assert known.controller_epoch == 4


def test_request_for_an_earlier_registration_is_rejected() -> None:
    known = fence()

    with pytest.raises(StaleBrokerEpochError, match="has registered again with 50"):
        known.admit(controller_epoch=9, broker_epoch=49, connection_id=1)

    assert known.controller_epoch == 0


@pytest.mark.parametrize("epoch", (UNKNOWN_BROKER_EPOCH, 50, 51))
def test_request_without_or_with_a_later_broker_epoch_is_accepted(epoch: int) -> None:
    known = fence()

    known.admit(controller_epoch=1, broker_epoch=epoch, connection_id=1)

    assert known.controller_epoch == 1


def test_request_through_an_abandoned_connection_is_rejected() -> None:
    known = fence()
    known.admit(controller_epoch=4, broker_epoch=50, connection_id=7)
    known.admit(controller_epoch=4, broker_epoch=50, connection_id=9)

    with pytest.raises(StaleControllerEpochError, match="a later one through connection 9"):
        known.admit(controller_epoch=4, broker_epoch=50, connection_id=7)

    known.admit(controller_epoch=4, broker_epoch=50, connection_id=9)


def test_request_of_a_later_controller_comes_through_any_connection() -> None:
    known = fence()
    known.admit(controller_epoch=4, broker_epoch=50, connection_id=9)

    known.admit(controller_epoch=5, broker_epoch=50, connection_id=3)

    assert known.controller_epoch == 5
