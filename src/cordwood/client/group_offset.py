"""Offsets of groups, and the member that commits them, as values of every client."""

from typing import NamedTuple


class GroupOffset(NamedTuple):
    """A committed offset of a group (Java: `OffsetAndMetadata`)."""

    offset: int
    metadata: str = ""
    leader_epoch: int = -1


class GroupMetadata(NamedTuple):
    """A group, and the member whose commit is fenced (Java: `ConsumerGroupMetadata`).

    The defaults stand for a commit without membership.
    """

    group_id: str
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None
