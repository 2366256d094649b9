"""Byte moves that Python lacks: unaligned loads and stores, memcpy, and steps of CRC-32C.

None of them checks a bound: the caller has just compared every length with the end. Numbers in
batches are big-endian, columns are in native order (little-endian on every platform with fast LLVM
vectors). Without a maker each is its twin, which does the same and checks its bounds.
"""

from cordwood.records.kernels import interpreted
from cordwood.records.kernels.kernel_definition import move

wrapping_sum = move(interpreted.wrapping_sum)
wrapping_product = move(interpreted.wrapping_product)
folded_product = move(interpreted.folded_product)
byte_at = move(interpreted.byte_at)
load_8 = move(interpreted.load_8)
load_16 = move(interpreted.load_16)
load_32 = move(interpreted.load_32)
load_64 = move(interpreted.load_64)
word_at = move(interpreted.word_at)
store_8 = move(interpreted.store_8)
store_16 = move(interpreted.store_16)
store_32 = move(interpreted.store_32)
store_64 = move(interpreted.store_64)
store_big_16 = move(interpreted.store_big_16)
store_big_32 = move(interpreted.store_big_32)
store_big_64 = move(interpreted.store_big_64)
soon_written = move(interpreted.soon_written)
copy = move(interpreted.copy)
copy_wide = move(interpreted.copy_wide)
crc_step_8 = move(interpreted.crc_step_8)
crc_step_1 = move(interpreted.crc_step_1)
