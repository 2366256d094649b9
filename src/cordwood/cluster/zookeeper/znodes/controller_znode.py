"""Nodes of the controller: who it is, and its epoch (Kafka: `ControllerZNode` and
`ControllerEpochZNode`).

    /controller          {"version":2,"brokerid":1,"timestamp":"...","kraftControllerEpoch":-1}
    /controller_epoch    1

The version of `/controller_epoch` guards the writes of a controller.
"""

from typing import Final

from cordwood.cluster.zookeeper.znodes.cluster_paths import CONTROLLER, CONTROLLER_EPOCH
from cordwood.cluster.zookeeper.znodes.znode_json import decode_json, encode_json, integer
from cordwood.core.errors import DamagedFileError

#: The epoch before the first controller.
INITIAL_CONTROLLER_EPOCH: Final = 0
_VERSION: Final = 2
#: The controller is not one of KRaft.
_NO_KRAFT_EPOCH: Final = -1


def encode_controller(broker_id: int, *, timestamp_ms: int) -> bytes:
    """Return the content of the controller's node."""
    return encode_json(
        {
            "version": _VERSION,
            "brokerid": broker_id,
            "timestamp": str(timestamp_ms),
            "kraftControllerEpoch": _NO_KRAFT_EPOCH,
        }
    )


def decode_controller(data: bytes) -> int:
    """Return the broker id of the controller."""
    return decode_json(
        data,
        lambda content: integer(content, "brokerid"),
        path=CONTROLLER,
        expected='{"version":2,"brokerid":1,...}',
    )


def encode_controller_epoch(epoch: int) -> bytes:
    """Return the content of the epoch's node."""
    return str(epoch).encode()


def decode_controller_epoch(data: bytes) -> int:
    """Return the epoch of the latest controller."""
    try:
        return int(data)
    except ValueError as error:
        raise DamagedFileError(
            "not a controller epoch",
            path=CONTROLLER_EPOCH,
            remedy="store a number above every former epoch",
            expected="a number",
            found=repr(data[:60]),
        ) from error
