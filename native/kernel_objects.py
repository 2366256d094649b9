"""Object files of kernels: LLVM's code as machine code of one level of a processor.

With the address sanitizer, the compiler of zig makes them: llvmlite lacks that pass of LLVM.
"""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from llvmlite import binding

from native.c_compiler import SANITIZER, ZIG
from native.kernel_code import PREFIX
from native.targets import Level, Target

_HEAD: Final = re.compile(r"^(define .*\))((?: #[0-9]+)? \{)$", re.MULTILINE)
_LAYOUT: Final = re.compile(r'^target (triple|datalayout) = "[^"]*"\n', re.MULTILINE)


def object_code(text: str, level: Level, target: Target) -> bytes:
    """Return the object file of all kernels for one level."""
    machine = _machine(level, target)
    module = binding.parse_assembly(_named(text, level, machine))
    _optimize(module, machine)
    for function in module.functions:
        if function.name.startswith(level.prefix):
            function.visibility = "hidden"
    module.verify()
    code: bytes = machine.emit_object(module)
    return code


def sanitized_object_code(text: str, level: Level, target: Target) -> bytes:
    """Return the same with a check of each access, for the address sanitizer."""
    checked = _HEAD.sub(r"\1 sanitize_address\2", _named(text, level, _machine(level, target)))
    with tempfile.TemporaryDirectory() as folder:
        source, file = Path(folder, "kernels.ll"), Path(folder, "kernels.o")
        source.write_text(checked, encoding="utf-8")
        processor = f"-mcpu={level.cpu.replace('-', '_')}"
        command = [*ZIG, "-c", "-O1", "-fPIC", SANITIZER, processor, "-o", str(file), str(source)]
        subprocess.run(command, check=True)
        return file.read_bytes()


def _named(text: str, level: Level, machine: binding.TargetMachine) -> str:
    """Return the code with the names of a level, and the layout of its machine."""
    layout = f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n'
    return layout + _LAYOUT.sub("", text).replace(f"@{PREFIX}", f"@{level.prefix}")


def _machine(level: Level, target: Target) -> binding.TargetMachine:
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    triple = target.triple or binding.get_process_triple()
    return binding.Target.from_triple(triple).create_target_machine(
        cpu=level.cpu, features=level.features, opt=3, reloc="pic", codemodel="default"
    )


def _optimize(module: binding.ModuleRef, machine: binding.TargetMachine) -> None:
    """Make each kernel a part of its entry; numba has optimized the kernels before."""
    passes = binding.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_strip_dead_prototype_pass()
    tuning = binding.create_pipeline_tuning_options(speed_level=3)
    passes.run(module, binding.create_pass_builder(machine, tuning))
