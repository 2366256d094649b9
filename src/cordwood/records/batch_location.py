"""Location of a batch in its buffer, and the errors that carry it.

Every fault of a batch leaves this package as `CorruptMessageError` (damaged bytes) or
`InvalidRecordError` (wrongly written bytes), with the batch's position and base offset.
"""

from typing import NamedTuple

from cordwood.core.binary import Buffer
from cordwood.core.errors import CorruptMessageError, InvalidRecordError
from cordwood.records.compression import Codec, decompress

CODEC_BITS = 0x07


class BatchLocation(NamedTuple):
    """The position of a batch in the buffer, and the offset in its header."""

    position: int
    base_offset: int | None = None

    def corrupt(
        self, message: str, *, expected: int | str, found: int | str
    ) -> CorruptMessageError:
        return CorruptMessageError(
            message,
            position=self.position,
            base_offset=self.base_offset,
            expected=expected,
            found=found,
        )

    def invalid(self, message: str, *, expected: int | str, found: int | str) -> InvalidRecordError:
        return InvalidRecordError(
            message,
            position=self.position,
            base_offset=self.base_offset,
            expected=expected,
            found=found,
        )

    def ensure_crc(self, stored: int, computed: int, *, message: str) -> None:
        """Raise CorruptMessageError if the stored checksum is not the computed one."""
        if stored != computed:
            raise self.corrupt(message, expected=f"{stored:08x}", found=f"{computed:08x}")

    def codec(self, attributes: int) -> Codec:
        """Return the codec in the low bits of a batch's attributes."""
        try:
            return Codec(attributes & CODEC_BITS)
        except ValueError:
            raise self.corrupt(
                "unknown codec", expected="0 to 4", found=attributes & CODEC_BITS
            ) from None

    def decompress(self, codec: Codec, data: memoryview, *, magic: int, limit: int) -> Buffer:
        """Return the uncompressed records, at most `limit` bytes of them."""
        try:
            return decompress(codec, data, magic=magic, limit=limit)
        except CorruptMessageError as error:
            raise CorruptMessageError(
                *error.args,
                position=self.position,
                base_offset=self.base_offset,
                expected=error.expected,
                found=error.found,
            ) from error
