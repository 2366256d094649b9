"""Heartbeat in a classic group (Kafka: `classicGroupHeartbeatToClassicGroup`).

Empty                         25
PreparingRebalance            27: the member has to join again; its session goes on
CompletingRebalance, Stable   0, and the session begins again
"""

from cordwood.coordination.groups.classic.classic_group_event import ClassicGroupEvent
from cordwood.coordination.groups.classic.classic_group_state import ClassicGroupState
from cordwood.core.errors import IllegalGenerationError, RebalanceInProgressError
from cordwood.protocol.messages.heartbeat import HeartbeatRequest


def heartbeat(event: ClassicGroupEvent, request: HeartbeatRequest) -> int:
    """Begin the member's session again, and return the error code; raise for other clients."""
    group = event.group
    group.validate_member(request.member_id, request.group_instance_id)
    if request.generation_id != group.generation:
        raise IllegalGenerationError(f"The generation is {group.generation}.")
    event.start_session(request.member_id)
    is_preparing = group.state is ClassicGroupState.PREPARING_REBALANCE
    return RebalanceInProgressError.code if is_preparing else 0
