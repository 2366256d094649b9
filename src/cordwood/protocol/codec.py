"""Bytes to messages and back; the codec of a message's version is compiled when it is first used.

    decode(ProduceRequest, data, 9)     an object; bytes and record sets are views of the data
    encode(response, 9)                 chunks: bytes, with record sets in their places

Bytes behind a message are overlooked, as Kafka does: newer clients may say more than a version has.
Whatever the bytes, decoding raises nothing but `BytesError`.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar, cast

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.primitives import Chunk, size_of_part
from cordwood.protocol.read_source import ReadSource
from cordwood.protocol.schema import Message
from cordwood.protocol.source import Source
from cordwood.protocol.write_source import WriteSource

M = TypeVar("M", bound=Message)

Reader: TypeAlias = Callable[[memoryview, int], tuple[M, int]]
"""Takes a view of bytes and where the message begins; returns it and where it ends."""

Writer: TypeAlias = Callable[[M, bytearray], list[Chunk]]
"""Takes a message and the bytes to append it to, which are the first of the chunks returned."""


class _Compiled(dict[tuple[type[Message], int], object]):
    """Functions by message and version, each made when it is first asked for."""

    def __init__(self, name: str, source: Callable[[type[Message], int], Source]) -> None:
        super().__init__()
        self._name = name
        self._source = source

    def __missing__(self, wanted: tuple[type[Message], int]) -> object:
        kind, version = wanted
        first, last = kind.__schema__.versions
        if not first <= version <= last:
            raise UnsupportedVersionError(
                f"{kind.__name__} has versions {first} to {last}, not {version}"
            )
        source = self._source(kind, version)
        made = self[wanted] = source.compiled(
            self._name, f"{self._name} {kind.__name__} v{version}"
        )
        return made


_readers = _Compiled("read", ReadSource)
_writers = _Compiled("write", WriteSource)


def reader(kind: type[M], version: int) -> Reader[M]:
    """Return what reads one version of a message."""
    return cast("Reader[M]", _readers[kind, version])


def writer(kind: type[M], version: int) -> Writer[M]:
    """Return what writes one version of a message."""
    return cast("Writer[M]", _writers[kind, version])


def decode(  # tidy: allow[positional] as encode, with the bytes before the version
    kind: type[M], data: Buffer, version: int
) -> M:
    """Return the message that `data` begins with."""
    return reader(kind, version)(bytes_view(data), 0)[0]


def encode(message: Message, version: int) -> list[Chunk]:
    """Return a message as chunks, which are to be sent one after the other."""
    return writer(type(message), version)(message, bytearray())


def joined(chunks: Iterable[Chunk]) -> bytes:
    """Return chunks as one: for messages that are kept rather than sent."""
    return b"".join(chunk if isinstance(chunk, Buffer) else chunk.read() for chunk in chunks)


def size_of(chunks: Iterable[Chunk]) -> int:
    """Return how many bytes chunks have."""
    return sum(map(size_of_part, chunks))
