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
from cordwood.protocol.write_source import WriteSource

M = TypeVar("M", bound=Message)

Reader: TypeAlias = Callable[[memoryview, int], tuple[M, int]]
"""Takes a view of bytes and where the message begins; returns it and where it ends."""

Writer: TypeAlias = Callable[[M, bytearray], list[Chunk]]
"""Takes a message and the bytes to append it to, which are the first of the chunks returned."""

_readers: dict[tuple[type[Message], int], Reader[Message]] = {}
_writers: dict[tuple[type[Message], int], Writer[Message]] = {}


def reader(kind: type[M], version: int) -> Reader[M]:
    """Return what reads one version of a message."""
    found = _readers.get((kind, version))
    if found is None:
        _ensure_declared(kind, version)
        made = ReadSource(kind, version).compiled("read", f"{kind.__name__} v{version} reader")
        found = _readers[kind, version] = cast("Reader[Message]", made)
    return cast("Reader[M]", found)


def writer(kind: type[M], version: int) -> Writer[M]:
    """Return what writes one version of a message."""
    found = _writers.get((kind, version))
    if found is None:
        _ensure_declared(kind, version)
        made = WriteSource(kind, version).compiled("write", f"{kind.__name__} v{version} writer")
        found = _writers[kind, version] = cast("Writer[Message]", made)
    return cast("Writer[M]", found)


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


def _ensure_declared(kind: type[Message], version: int) -> None:
    first, last = kind.__schema__.versions
    if not first <= version <= last:
        raise UnsupportedVersionError(
            f"{kind.__name__} has versions {first} to {last}, not {version}"
        )
