"""Codecs: bytes to messages and back, compiled per message and version on first use.

    decode(ProduceRequest, data, 9)     an object; bytes and record sets are views of the data
    encode(response, 9)                 chunks: bytes, with record sets in their places

Bytes after a message are ignored, as in Kafka: newer clients may append fields to a version. For
any bytes, decoding raises only `BytesError`.

`most` limits the elements of all lists of a message together. Beyond it both functions raise
ElementLimitError, a BytesError, before they process the list that exceeds it.
"""

from collections.abc import Callable, Iterable
from typing import Protocol, TypeVar, cast

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import UnsupportedVersionError
from cordwood.protocol.codegen_source import GeneratedSource
from cordwood.protocol.primitives import UNLIMITED, Chunk, size_of_part
from cordwood.protocol.reader_codegen import ReadSource
from cordwood.protocol.schema import Message, compile_inits
from cordwood.protocol.writer_codegen import WriteSource

M = TypeVar("M", bound=Message)

M_co = TypeVar("M_co", bound=Message, covariant=True)
M_contra = TypeVar("M_contra", bound=Message, contravariant=True)


class Reader(Protocol[M_co]):
    """A compiled reader."""

    def __call__(self, data: memoryview, at: int, left: int = UNLIMITED, /) -> tuple[M_co, int]:
        """Return the message at `at`, with at most `left` elements, and its end."""


class Writer(Protocol[M_contra]):
    """A compiled writer."""

    def __call__(self, message: M_contra, out: bytearray, left: int = UNLIMITED, /) -> list[Chunk]:
        """Append a message with at most `left` elements to `out`, the first returned chunk."""


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
    kind: type[M], data: Buffer, version: int, *, most: int = UNLIMITED
) -> M:
    """Decode the message at the start of `data`."""
    return reader(kind, version)(bytes_view(data), 0, most)[0]


def encode(message: Message, version: int, *, most: int = UNLIMITED) -> list[Chunk]:
    """Encode a message as chunks, to be sent in order."""
    return writer(type(message), version)(message, bytearray(), most)


def compile_readers(kind: type[Message]) -> None:
    """Compile the readers of all versions of a message."""
    for version in _versions(kind):
        reader(kind, version)


def compile_writers(kind: type[Message]) -> None:
    """Compile the writers of all versions of a message, and what makes its objects."""
    compile_inits(kind)
    for version in _versions(kind):
        writer(kind, version)


def _versions(kind: type[Message]) -> range:
    first, last = kind.__schema__.versions
    return range(first, last + 1)


def joined(chunks: Iterable[Chunk]) -> bytes:
    """Join chunks into bytes, for messages that are stored, not sent."""
    return b"".join(chunk if isinstance(chunk, Buffer) else chunk.read() for chunk in chunks)


def size_of(chunks: Iterable[Chunk]) -> int:
    """Return the total size of chunks in bytes."""
    return sum(map(size_of_part, chunks))
