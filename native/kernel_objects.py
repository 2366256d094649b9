"""Object files of kernels: LLVM's code as machine code of one level of a processor."""

import re
from typing import Final

from llvmlite import binding

from native.kernel_code import PREFIX
from native.targets import Level, Target

_LAYOUT: Final = re.compile(r'^target (triple|datalayout) = "[^"]*"\n', re.MULTILINE)


def object_code(text: str, level: Level, target: Target) -> bytes:
    """Return the object file of all kernels for one level."""
    machine = _machine(level, target)
    layout = f'target triple = "{machine.triple}"\ntarget datalayout = "{machine.target_data}"\n'
    named = _LAYOUT.sub("", text).replace(f"@{PREFIX}", f"@{level.prefix}")
    module = binding.parse_assembly(layout + named)
    _optimize(module, machine)
    for function in module.functions:
        if function.name.startswith(level.prefix):
            function.visibility = "hidden"
    module.verify()
    code: bytes = machine.emit_object(module)
    return code


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
