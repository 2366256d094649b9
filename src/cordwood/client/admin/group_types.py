"""Values about groups that the admin client returns; each has a repr and `to_json`."""

from dataclasses import dataclass

from cordwood.client.admin.admin_types import JsonValue
from cordwood.core.types import TopicPartition


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupListing(JsonValue):
    """A group; its state and type are empty if the broker is too old to report them."""

    group_id: str
    protocol_type: str
    state: str
    type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberDescription(JsonValue):
    """A member and its partitions; the target differs while a group of the new kind rebalances.

    `is_upgraded` is whether a member of such a group has the new protocol; None if that is unknown.
    """

    member_id: str
    instance_id: str | None
    rack_id: str | None
    client_id: str
    host: str
    epoch: int | None
    assignment: tuple[TopicPartition, ...]
    target_assignment: tuple[TopicPartition, ...] | None
    is_upgraded: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupDescription(JsonValue):
    """A group and its members; `type` is "classic" or "consumer", epochs are of the latter."""

    group_id: str
    type: str
    protocol_type: str
    state: str
    assignor: str
    coordinator: int
    members: tuple[MemberDescription, ...]
    group_epoch: int | None
    assignment_epoch: int | None
