"""The declarations of Python's stable ABI equal those of Python's own headers."""

import subprocess
import sysconfig
from pathlib import Path

import pytest

from native.c_compiler import system_compiler
from native.fingerprint import HERE
from native.library_table import TableRow, table_code
from native.targets import LEVELS

PROGRAM = """\
#ifdef CORDWOOD_PYTHON_H
#define Py_LIMITED_API 0x030B0000
#include <Python.h>
#else
#include "python_abi.h"
#endif
#include <stddef.h>
#include <stdio.h>
#define SHOW(number) printf("%s %ld\\n", #number, (long)(number))
int main(void) {
    SHOW(sizeof(PyMethodDef)); SHOW(sizeof(PyModuleDef_Slot)); SHOW(sizeof(PyModuleDef));
    SHOW(offsetof(PyMethodDef, ml_meth)); SHOW(offsetof(PyMethodDef, ml_flags));
    SHOW(offsetof(PyModuleDef, m_name)); SHOW(offsetof(PyModuleDef, m_size));
    SHOW(offsetof(PyModuleDef, m_slots)); SHOW(offsetof(PyModuleDef_Slot, value));
    SHOW(sizeof(Py_buffer)); SHOW(offsetof(Py_buffer, itemsize)); SHOW(offsetof(Py_buffer, ndim));
    SHOW(offsetof(Py_buffer, format)); SHOW(offsetof(Py_buffer, shape));
    SHOW(PyBUF_WRITABLE); SHOW(PyBUF_FORMAT); SHOW(PyBUF_C_CONTIGUOUS);
    SHOW(METH_FASTCALL); SHOW(Py_mod_exec);
}
"""


@pytest.fixture
def compiler() -> list[str]:
    """Return a compiler that finds Python's headers."""
    include = sysconfig.get_path("include")
    command = system_compiler()
    if not command or not Path(include, "Python.h").is_file():
        pytest.skip("there is no compiler, or there are no headers of Python")
    return [*command, f"-I{include}", f"-I{HERE}", "-Wall", "-Wextra", "-Werror"]


def test_structs_and_constants_are_those_of_python(compiler: list[str], tmp_path: Path) -> None:
    source = tmp_path / "show.c"
    source.write_text(PROGRAM)
    printed = []

    for flags in ([], ["-DCORDWOOD_PYTHON_H"]):
        program = tmp_path / f"show{len(flags)}"
        subprocess.run([*compiler, *flags, "-o", str(program), str(source)], check=True)
        printed.append(subprocess.run([program], check=True, capture_output=True).stdout)

    assert printed[0] == printed[1]
    assert printed[0].count(b"\n") == 19


def test_library_compiles_with_the_headers_of_python(compiler: list[str], tmp_path: Path) -> None:
    rows, levels = [TableRow("a.b", "(rb)qi", 2)], LEVELS["x86_64"]
    (tmp_path / "kernels.inc").write_text(table_code(rows, levels, fingerprint="f00d"))

    subprocess.run(
        [
            *compiler,
            *("-DCORDWOOD_PYTHON_H", f"-DLEVELS={len(levels)}", f"-I{tmp_path}", "-fsyntax-only"),
            str(HERE / "machine.c"),
        ],
        check=True,
    )
