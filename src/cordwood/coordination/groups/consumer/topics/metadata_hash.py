"""Hash of a group's topics, which a new epoch follows when it changes (Kafka: `Utils`).

    topic   byte 0 | i64, i64 id | string name | i32 partitions | of each partition:
            i32 number | of each rack, sorted: i32 length, string rack
    group   i64 topic hashes, in the order of the names; 0 without topics

Numbers are little-endian. A string is its UTF-16 code units, little-endian, and then their number.
"""

from collections.abc import Iterable, Mapping
from struct import pack

from cordwood.coordination.groups.consumer.topics.xxh3 import xxh3_64
from cordwood.coordination.topic_view import TopicFacts, TopicView, existing_topics

_SIGN = 1 << 63


def topic_hash(topic: TopicFacts) -> int:
    """Return the hash of one topic, as an unsigned number."""
    high, low = topic.topic_id[:8], topic.topic_id[8:]
    parts = [b"\0", high[::-1], low[::-1], _string(topic.name), pack("<i", topic.partitions)]
    for partition in range(topic.partitions):
        parts.append(pack("<i", partition))
        for rack in sorted(topic.racks[partition]) if topic.racks else ():
            parts += (pack("<i", _units(rack)), _string(rack))
    return xxh3_64(b"".join(parts))


def group_hash(topic_hashes: Mapping[str, int]) -> int:
    """Return the hash of a group from those of its topics by name, as a signed number."""
    if not topic_hashes:
        return 0
    hashes = [topic_hashes[each] for each in sorted(topic_hashes)]
    found = xxh3_64(pack(f"<{len(hashes)}Q", *hashes))
    return found - 2 * _SIGN if found & _SIGN else found


class MetadataHashes:
    """The hashes of topics, each computed once while the topic stays as it is."""

    def __init__(self) -> None:
        self._hashes = dict[str, tuple[TopicFacts, int]]()

    def of_group(self, names: Iterable[str], view: TopicView) -> int:
        """Return the hash of those topics that exist."""
        topics = existing_topics(names, view)
        return group_hash({each.name: self._of_topic(each) for each in topics})

    def compute(self, topics: Iterable[TopicFacts]) -> None:
        """Compute the hashes of topics ahead of the event that needs them, on any thread."""
        for each in topics:
            self._of_topic(each)

    def _of_topic(self, topic: TopicFacts) -> int:
        known = self._hashes.get(topic.name)
        if known is None or known[0] != topic:
            known = topic, topic_hash(topic)
            self._hashes[topic.name] = known
        return known[1]

    def forget_deleted(self, changed: frozenset[str], view: TopicView) -> None:
        """Forget those of the changed topics that no longer exist."""
        for each in self._hashes.keys() & changed:
            if view.by_name(each) is None:
                del self._hashes[each]


def _string(text: str) -> bytes:
    return text.encode("utf-16-le", "surrogatepass") + pack("<i", _units(text))


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
