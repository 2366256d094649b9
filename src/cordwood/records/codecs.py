"""Door to cramjam: each function fills a given buffer and never asks for a larger one.

A decompressing function returns None when the vendor gave up. The vendor's message does not
distinguish damaged bytes from a small buffer, so the framing modules decide that.
`CorruptMessageError` is never raised here, and vendor errors do not leave this module.
"""

import cramjam

from cordwood.core.binary import Buffer


def gzip_into(data: Buffer, out: memoryview) -> int | None:
    """Inflate every member of `data` into `out`."""
    try:
        return cramjam.gzip.decompress_into(data, out)
    except cramjam.DecompressionError:
        return None


def snappy_into(block: Buffer, out: memoryview) -> int | None:
    """Decompress one raw snappy block; `out` may be larger than the block needs."""
    try:
        return cramjam.snappy.decompress_raw_into(block, out)
    except cramjam.DecompressionError:
        return None


def lz4_block_into(block: Buffer, out: memoryview) -> int | None:
    """Decompress one independent lz4 block; `out` may be larger than the block needs."""
    try:
        return cramjam.lz4.decompress_block_into(block, out)
    except cramjam.DecompressionError:
        return None


def lz4_frame_into(frame: Buffer, out: memoryview) -> int | None:
    """Decompress one lz4 frame and verify its checksums."""
    try:
        return cramjam.lz4.decompress_into(frame, out)
    except cramjam.DecompressionError:
        return None


def zstd_into(data: Buffer, out: memoryview) -> int | None:
    """Decompress every zstd frame of `data` into `out`."""
    try:
        return cramjam.zstd.decompress_into(data, out)
    except cramjam.DecompressionError:
        return None


def snappy_compressed_max(size: int) -> int:
    """Return the largest raw snappy block for `size` bytes, by the format's own bound."""
    return 32 + size + size // 6


def snappy_compress_into(data: memoryview, out: memoryview) -> int:
    """Write `data` as one raw snappy block; `out` has room for `snappy_compressed_max`."""
    return cramjam.snappy.compress_raw_into(data, out)


def lz4_compressed_max(size: int) -> int:
    """Return the largest lz4 block for `size` bytes, by the format's own bound."""
    return size + size // 255 + 16


def lz4_compress_into(data: memoryview, out: memoryview) -> int:
    """Write `data` as one lz4 block with the fast compressor; room for `lz4_compressed_max`."""
    return cramjam.lz4.compress_block_into(data, out, store_size=False)


def lz4_frame(data: memoryview, level: int) -> bytes:
    """Write `data` as one frame of independent 64 KiB blocks, each followed by its checksum."""
    writer = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    writer.compress(bytes(data))
    return bytes(writer.finish())


def zstd_frame(data: memoryview, level: int) -> bytes:
    """Write `data` as one zstd frame."""
    return bytes(cramjam.zstd.compress(data, level=level))
