"""AllocateProducerIds: blocks of producer ids for brokers (Kafka: `processAllocateProducerIds`).

BROKER_ID_NOT_REGISTERED    the broker is not registered
STALE_BROKER_EPOCH          the broker is registered with another epoch
"""

from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.effects import ClaimProducerIds, Flow, Respond, perform
from cordwood.core.errors import BrokerIdNotRegisteredError, StaleBrokerEpochError


def allocate_producer_ids(
    context: ClusterContext, broker_id: int, *, broker_epoch: int
) -> Flow[None]:
    """Respond with the next block of producer ids, or with an error."""
    broker = context.brokers.get(broker_id)
    if broker is None:
        error = BrokerIdNotRegisteredError(f"broker {broker_id} is not registered")
        yield from perform(Respond(error))
    elif broker.epoch != broker_epoch:
        text = f"broker {broker_id} has the epoch {broker.epoch}, not {broker_epoch}"
        yield from perform(Respond(StaleBrokerEpochError(text)))
    else:
        block = yield from perform(ClaimProducerIds(broker_id))
        yield from perform(Respond(block))
