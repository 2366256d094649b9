"""Entries of kernels in LLVM's code: `int32 entry(const int64 *words, int64 *results)`.

An entry makes numba's arguments of words: an array of its address and its shape, a tuple of its
values. The status is 0, or that of a failure. `machine.c` calls entries only.
"""

from collections.abc import Iterator
from typing import Final

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.np import arrayobj

_I64: Final = ir.IntType(64)
_I32: Final = ir.IntType(32)
_ENTRY: Final = ir.FunctionType(_I32, [_I64.as_pointer(), _I64.as_pointer()])


def entry_code(symbol: str, described: object) -> str:
    """Return LLVM's code of the entry for a function as numba describes it."""
    context = cpu_target.target_context
    calls = context.call_conv
    result, arguments = described.restype, described.argtypes  # type: ignore[attr-defined]  # numba has no types
    module = context.codegen()._create_empty_module(symbol)  # noqa: SLF001  # with numba's layout
    kind = calls.get_function_type(result, arguments)
    kernel = ir.Function(module, kind, described.llvm_func_name)  # type: ignore[attr-defined]  # numba has no types
    entry = ir.Function(module, _ENTRY, symbol)
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    words = _words(builder, entry.args[0])
    values = [_value(builder, each, words) for each in arguments]
    status, returned = calls.call_function(builder, kernel, result, arguments, values)
    with builder.if_then(status.is_error, likely=False):
        builder.ret(status.code)
    for at, value in enumerate(_results(builder, result, returned)):
        builder.store(value, builder.gep(entry.args[1], [_I64(at)]))
    builder.ret(_I32(0))
    return str(cgutils.normalize_ir_text(str(module)))


def _words(builder: ir.IRBuilder, address: ir.Value) -> Iterator[ir.Value]:
    """Yield the words from an address on, each loaded when it is wanted."""
    at = 0
    while True:
        yield builder.load(builder.gep(address, [_I64(at)]))
        at += 1


def _value(builder: ir.IRBuilder, kind: types.Type, words: Iterator[ir.Value]) -> ir.Value:
    """Return a value of this type, made of the next words."""
    context = cpu_target.target_context
    if isinstance(kind, types.UniTuple):
        items = [_value(builder, kind.dtype, words) for _ in range(kind.count)]
        return context.make_tuple(builder, kind, items)
    if not isinstance(kind, types.Array):
        return next(words)
    size = _I64(kind.dtype.bitwidth // 8)
    address = builder.inttoptr(next(words), context.get_data_type(kind.dtype).as_pointer())
    shape = [next(words) for _ in range(kind.ndim)]
    strides = [size]
    for extent in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], extent))
    array = context.make_array(kind)(context, builder)
    arrayobj.populate_array(
        array, data=address, shape=shape, strides=strides, itemsize=size, meminfo=None
    )
    return array._getvalue()  # noqa: SLF001  # numba's name


def _results(builder: ir.IRBuilder, kind: types.Type, returned: ir.Value) -> list[ir.Value]:
    if kind is types.void:
        return []
    if isinstance(kind, types.UniTuple):
        found: list[ir.Value] = cgutils.unpack_tuple(builder, returned)
        return found
    return [returned]
