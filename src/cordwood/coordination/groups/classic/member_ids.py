"""Ids of new members (Kafka: `ClassicGroup.generateMemberId`).

dynamic   <client id>-<uuid>
static    <instance id>-<uuid>
"""

from typing import Final

from cordwood.core.ports import Random
from cordwood.core.uuids import random_uuid

_TOKEN_BYTES: Final = 16
_HYPHENS: Final = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))


def new_member_id(client_id: str, instance_id: str | None, *, random: Random) -> str:
    """Return an id that no other member has."""
    digits = random_uuid(random.token(_TOKEN_BYTES)).hex()
    uuid = "-".join(digits[start:end] for start, end in _HYPHENS)
    return f"{client_id if instance_id is None else instance_id}-{uuid}"
