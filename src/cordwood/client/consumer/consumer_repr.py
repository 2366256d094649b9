"""Text by which a consumer shows itself in an interactive session."""

from cordwood.client.client_repr import client_repr
from cordwood.client.consumer.group_subscription import GroupSubscription
from cordwood.client.consumer.subscription_state import SubscriptionState
from cordwood.client.network.network_client import NetworkClient
from cordwood.client.settings import ConsumerSettings


def consumer_repr(
    assigned: SubscriptionState,
    settings: ConsumerSettings,
    *,
    client: NetworkClient | None,
    group: GroupSubscription | None,
) -> str:
    """Return a text with the group, the subscription and the number of assigned partitions."""
    names = () if group is None else sorted(group.subscription.names)
    facts = (
        f"group {settings.group_id!r}" if settings.group_id else None,
        f"subscribed to {', '.join(names)}" if names else None,
        f"{len(assigned)} partitions assigned" if len(assigned) != 1 else "1 partition assigned",
    )
    return client_repr("Consumer", settings, *facts, is_running=client is not None)
