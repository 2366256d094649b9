"""The topics that brokers write for themselves; clients may read them, and look after them."""

from typing import Final

INTERNAL_TOPICS: Final = frozenset(
    {"__consumer_offsets", "__transaction_state", "__share_group_state"}
)
