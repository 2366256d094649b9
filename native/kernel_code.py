"""LLVM's code of many kernels in one module, made while their modules are imported.

Of each kernel its entry is kept; all else is internal, so that LLVM may change or remove it. The
names of entries begin with PREFIX, which stands for a level.
"""

import json
from collections.abc import Collection, Iterable
from importlib import import_module
from pathlib import Path
from typing import Final, NamedTuple

from llvmlite import binding

from cordwood.records.kernels import kernel_definition
from native.kernel_entries import entry_code
from native.kernel_maker import LibraryMaker, MadeKernel, stop_before_machine_code
from native.library_table import TableRow

PREFIX: Final = "LEVEL_"


class KernelCode(NamedTuple):
    """The code of kernels, and their rows."""

    text: str
    rows: list[TableRow]


def make_code(modules: Collection[str], *, processor: str) -> KernelCode:
    """Import modules with kernels, and return the code of all of them."""
    assert not kernel_definition.IS_COMPILED, "kernels would be loaded, not made"
    stop_before_machine_code()
    maker = kernel_definition.maker = LibraryMaker(processor, modules)
    for module in modules:
        import_module(module)
    whole = binding.parse_assembly(f'target triple = "{binding.get_process_triple()}"')
    for kernel in maker.found:
        whole.link_in(_linkable(kernel))
    return KernelCode(str(whole), [kernel.row for kernel in maker.found])


def _linkable(kernel: MadeKernel) -> binding.ModuleRef:
    """Return the code of one kernel with its entry, in which only the entry is visible."""
    module = binding.parse_bitcode(kernel.bitcode)
    own = kernel.described.llvm_func_name  # type: ignore[attr-defined]  # numba has no types
    for each in (*module.functions, *module.global_variables):
        if each.is_declaration:
            assert each.name.startswith("llvm."), f"{kernel.row.name} calls {each.name}"
        elif each.name != own:
            each.linkage = "internal"
    module.link_in(binding.parse_assembly(entry_code(PREFIX + kernel.row.symbol, kernel.described)))
    function = module.get_function(own)
    function.linkage = "internal"
    function.add_function_attribute("alwaysinline")
    return module


def joined(parts: Iterable[KernelCode]) -> KernelCode:
    """Return the code of several parts as one."""
    whole = binding.parse_assembly(f'target triple = "{binding.get_process_triple()}"')
    rows: list[TableRow] = []
    for part in parts:
        whole.link_in(binding.parse_assembly(part.text))
        rows += part.rows
    return KernelCode(str(whole), sorted(rows))


def write_code(code: KernelCode, file: Path) -> None:
    """Write code for another process."""
    file.write_text(json.dumps(code), encoding="utf-8")


def read_code(file: Path) -> KernelCode:
    """Read what `write_code` has written."""
    text, rows = json.loads(file.read_text(encoding="utf-8"))
    return KernelCode(text, [TableRow(*row) for row in rows])
