"""Effects: a flow receives their results."""

import pytest

from cordwood.cluster.controller.effects import Flow, ReadTopicNames, perform
from cordwood.core.errors import StaleControllerEpochError


def _count_topics() -> Flow[int]:
    names = yield from perform(ReadTopicNames())
    return len(names)


def test_performed_effect_returns_its_result_to_the_flow() -> None:
    flow = _count_topics()

    assert next(flow) == ReadTopicNames()
    with pytest.raises(StopIteration) as returned:
        flow.send(["orders", "payments"])

    assert returned.value.value == 2


def test_error_of_a_replaced_controller_ends_the_flow() -> None:
    flow = _count_topics()
    next(flow)

    with pytest.raises(StaleControllerEpochError):
        flow.throw(StaleControllerEpochError("another controller was elected"))

    assert [*flow] == []
