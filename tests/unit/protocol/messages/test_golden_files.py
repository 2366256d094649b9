"""Golden bytes of every message module, for encoding and decoding."""

from importlib import import_module
from pkgutil import iter_modules

import pytest

from cordwood.protocol import messages
from cordwood.protocol.codec import decode, encode
from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch, NodeEndpoint
from cordwood.protocol.messages.internal import GROUP_RECORDS, TRANSACTION_RECORDS
from cordwood.protocol.schema import Data, Message, Request, Response
from tests.unit.protocol.messages.golden_files import GoldenCase, build, golden_cases

CASES = tuple(golden_cases())
MODULES = sorted(each.name for each in iter_modules(messages.__path__))


class LeaderAndEndpoints(Data, versions=(0, 0), flexible_since=0):
    """The structs of `current_leader`, which has no message of its own."""

    current_leader: LeaderIdAndEpoch
    node_endpoints: list[NodeEndpoint]


def message_class(module: str, name: str) -> type[Message]:
    if name == LeaderAndEndpoints.__name__:
        return LeaderAndEndpoints
    kind: type[Message] = getattr(import_module(f"cordwood.protocol.messages.{module}"), name)
    return kind


def messages_of(module: str) -> set[str]:
    """Return the names of the messages that a module declares."""
    home = import_module(f"cordwood.protocol.messages.{module}")
    return {
        each.__name__
        for each in vars(home).values()
        if isinstance(each, type)
        and issubclass(each, Message)
        and each not in {Request, Response, Data}
    }


@pytest.mark.parametrize(
    "case", [pytest.param(each, id=f"{each.name}-v{each.version}") for each in CASES]
)
def test_message_has_kafkas_bytes(case: GoldenCase) -> None:
    kind = message_class(case.module, case.name)
    message = build(kind, case.fields)

    assert encode(message, case.version) == [case.wire]
    assert decode(kind, case.wire, case.version) == message


@pytest.mark.parametrize("module", MODULES)
def test_every_message_of_a_module_has_golden_bytes(module: str) -> None:
    covered = {each.name for each in CASES if each.module == module}

    assert covered
    assert messages_of(module) <= covered


def test_no_case_occurs_twice() -> None:
    assert len({(each.name, each.version) for each in CASES}) == len(CASES)


def test_record_types_pair_a_key_with_its_value() -> None:
    pairs = [*GROUP_RECORDS.values(), *TRANSACTION_RECORDS.values()]

    for key, value in pairs:
        assert key.__name__.removesuffix("Key") == value.__name__.removesuffix("Value")
