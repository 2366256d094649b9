"""Tests of the FindCoordinator handler."""

from cordwood.broker.dispatch import ROUTES
from cordwood.broker.handlers.coordinators import find_coordinator
from cordwood.core.errors import CoordinatorNotAvailableError
from cordwood.protocol.apis import api_of
from cordwood.protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.unit.broker.broker_samples import BrokerHarness, run

CODE = CoordinatorNotAvailableError.code


def test_quirk_02_librdkafka_finds_the_api_that_enables_lz4() -> None:
    api = api_of(10)

    assert api.key in ROUTES
    assert api.first == 0


def test_one_key_is_answered_at_the_top_level_up_to_version_3() -> None:
    harness = BrokerHarness()

    answer = run(
        find_coordinator(harness.broker, harness.context(3), FindCoordinatorRequest(key="g"))
    )

    assert (answer.error_code, answer.node_id, answer.coordinators) == (CODE, -1, [])


def test_quirk_21_several_keys_have_separate_answers_from_version_4() -> None:
    harness = BrokerHarness()
    request = FindCoordinatorRequest(coordinator_keys=["g", "h"])

    answer = run(find_coordinator(harness.broker, harness.context(4), request))

    assert [(each.key, each.error_code) for each in answer.coordinators] == [
        ("g", CODE),
        ("h", CODE),
    ]
    assert answer.error_code == 0
