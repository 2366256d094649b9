"""kio and kafka-python read our bytes, and we read theirs as the same message.

Both directions, for every message and version that a peer has; with null in every nullable field,
or in none.
"""

from collections.abc import Callable

import pytest

from cordwood.protocol.codec import decode, encode, joined
from cordwood.protocol.messages.api_versions import ApiVersionsResponse
from cordwood.protocol.schema import Data, Message
from tests.interop.kafka_harness import installed, peers
from tests.interop.kafka_harness.messages import kinds, sample

Peer = Callable[[type[Message], int], peers.Rewrite | None]

KINDS = [kind for kind in kinds() if not issubclass(kind, Data)]
PEERS: dict[str, Peer] = {"kio": peers.kio, "kafka": peers.kafka_python}

# How many samples a peer has to know at least, of each version two.
KNOWN = {"kio": 1_000, "kafka": 940}


@pytest.fixture(params=PEERS)
def peer(request: pytest.FixtureRequest) -> str:
    """The name of a peer whose wheel is installed."""
    name = str(request.param)
    installed.peer(name)
    return name


def rewritten(peer: str, kind: type[Message]) -> int:
    """Send samples of every version of a peer through it; return their number."""
    count = 0
    first, last = kind.__schema__.versions
    for version in range(first, last + 1):
        rewrite = PEERS[peer](kind, version)
        for with_nulls in (False, True) if rewrite is not None else ():
            assert rewrite is not None
            message = sample(kind, version, with_nulls=with_nulls)
            if isinstance(message, ApiVersionsResponse):
                message.error_code = 0  # with an error, kafka-python reads it as version 0
            data = joined(encode(message, version))
            assert decode(kind, rewrite(data), version) == message
            count += 1
    return count


def test_messages_pass_through_a_peer_unchanged(peer: str) -> None:
    count = sum(rewritten(peer, kind) for kind in KINDS)

    assert count >= KNOWN[peer]
