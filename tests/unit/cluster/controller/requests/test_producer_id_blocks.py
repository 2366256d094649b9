"""AllocateProducerIds: blocks for registered brokers alone."""

from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.requests.producer_id_blocks import allocate_producer_ids
from cordwood.core.errors import BrokerIdNotRegisteredError, StaleBrokerEpochError
from tests.unit.cluster.controller.controller_samples import (
    Performed,
    cluster_context,
    store_of,
)
from tests.unit.cluster.controller.store_model import StoreModel


def _response(
    context: ClusterContext, store: StoreModel, broker_id: int, broker_epoch: int
) -> object:
    flow = allocate_producer_ids(context, broker_id, broker_epoch=broker_epoch)
    (response,) = Performed(context, flow, store).responses
    return response


def test_each_broker_gets_the_next_block() -> None:
    context = cluster_context()
    store = store_of(context)

    assert _response(context, store, 1, 101) == range(1000)
    assert _response(context, store, 2, 102) == range(1000, 2000)


def test_broker_with_another_epoch_and_unknown_broker_get_none() -> None:
    context = cluster_context()
    store = store_of(context)

    assert isinstance(_response(context, store, 1, 100), StaleBrokerEpochError)
    assert isinstance(_response(context, store, 9, 109), BrokerIdNotRegisteredError)
