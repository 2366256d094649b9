"""Codecs: bytes to messages and back, compiled per message and version on first use.

    decode(ProduceRequest, data, 9)     an object; bytes and record sets are views of the data
    encode(response, 9)                 chunks: bytes, with record sets in their places

Bytes after a message are ignored, as in Kafka: newer clients may append fields to a version. For
any bytes, decoding raises only `BytesError`.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias, TypeVar, cast

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.codegen_source import GeneratedSource
from cordwood.protocol.primitives import Chunk, size_of_part
from cordwood.protocol.reader_codegen import ReadSource
from cordwood.protocol.schema import Message
from cordwood.protocol.writer_codegen import WriteSource

M = TypeVar("M", bound=Message)

Reader: TypeAlias = Callable[[memoryview, int], tuple[M, int]]
"""Takes a view of bytes and the start of the message; returns the message and its end."""

Writer: TypeAlias = Callable[[M, bytearray], list[Chunk]]
"""Takes a message and the buffer to append to, which is the first of the returned chunks."""


class _CompiledCodecs(dict[tuple[type[Message], int], object]):
    """Codecs by message and version, compiled on first use."""

    def __init__(self, name: str, source: Callable[[type[Message], int], GeneratedSource]) -> None:
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


_readers = _CompiledCodecs("read", ReadSource)
_writers = _CompiledCodecs("write", WriteSource)


def reader(kind: type[M], version: int) -> Reader[M]:
    """Return the reader of one version of a message."""
    return cast("Reader[M]", _readers[kind, version])


def writer(kind: type[M], version: int) -> Writer[M]:
    """Return the writer of one version of a message."""
    return cast("Writer[M]", _writers[kind, version])


def decode(  # tidy: allow[positional] as encode, with the bytes before the version
    kind: type[M], data: Buffer, version: int
) -> M:
    """Decode the message at the start of `data`."""
    return reader(kind, version)(bytes_view(data), 0)[0]


def encode(message: Message, version: int) -> list[Chunk]:
    """Encode a message as chunks, to be sent in order."""
    return writer(type(message), version)(message, bytearray())


def joined(chunks: Iterable[Chunk]) -> bytes:
    """Join chunks into bytes, for messages that are stored, not sent."""
    return b"".join(chunk if isinstance(chunk, Buffer) else chunk.read() for chunk in chunks)


def size_of(chunks: Iterable[Chunk]) -> int:
    """Return the total size of chunks in bytes."""
    return sum(map(size_of_part, chunks))
