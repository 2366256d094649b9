"""Build hook of the wheel: it contains the library of kernels, or is plain Python.

A wheel with kernels serves one platform, and each Python from 3.11 on (`cp311-abi3`). A wheel
without them (`py3-none-any`) serves every platform. CORDWOOD_BUILD_KERNELS chooses:

    unset       with kernels; without them, and with a warning, if they cannot be compiled
    required    with kernels, or an error
    0           without kernels

CORDWOOD_KERNELS_TARGET names another target, such as `aarch64-linux-gnu.2.17`, which zig compiles.
An editable installation has the library in its source tree. The build of a wheel leaves it there
for the next one, unless the tree is read-only.
"""

import os
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Final

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

LIBRARY: Final = "cordwood/records/kernels/_machine.abi3.so"
_CHOICE: Final = "CORDWOOD_BUILD_KERNELS"
_REQUIRED: Final = "required"
_NEVER: Final = "0"


class KernelBuildHook(BuildHookInterface):  # type: ignore[type-arg]  # of any builder
    """Adds the library to a wheel."""

    PLUGIN_NAME = "kernels"
    _folder: "tempfile.TemporaryDirectory[str] | None" = None

    def dependencies(self) -> list[str]:
        """Return what the compilation needs: numba, and zig where the system has no compiler."""
        if not self._is_wanted():
            return []
        wanted = [str(each) for each in self.config["kernels-need"]]
        sys.path.insert(0, self.root)
        from native.c_compiler import system_compiler  # noqa: PLC0415  # on the path since now

        is_enough = not self._target() and system_compiler()
        return wanted if is_enough else [*wanted, str(self.config["compiler"])]

    def initialize(self, version: str, build_data: dict[str, object]) -> None:
        """Compile the library, and name the wheel after its platform."""
        if not self._is_wanted():
            return
        library = self._library(version)
        if not self._compile(library):
            self._report_failure()
        elif version != "editable":
            sys.path.insert(0, self.root)
            from native.targets import target_named  # noqa: PLC0415  # on the path since now

            build_data["pure_python"] = False
            build_data["tag"] = f"cp311-abi3-{target_named(self._target()).wheel_platform}"
            build_data["force_include"] = {str(library): LIBRARY}

    def finalize(self, *_: object) -> None:
        """Remove the folder of a library outside of the tree."""
        if self._folder is not None:
            self._folder.cleanup()

    def _library(self, version: str) -> Path:
        """Return the file to compile: in the tree, or in a new folder if that is read-only."""
        library = Path(self.root, "src", LIBRARY)
        if version != "editable" and not os.access(library.parent, os.W_OK):
            self._folder = tempfile.TemporaryDirectory()
            return Path(self._folder.name, library.name)
        if self._target():
            return Path(self.root, "build", self._target(), library.name)
        return library

    def _is_wanted(self) -> bool:
        is_stable = sys.implementation.name == "cpython" and not sysconfig.get_config_var(
            "Py_GIL_DISABLED"
        )
        chosen = os.environ.get(_CHOICE, "")
        if chosen not in {"", _REQUIRED, _NEVER}:
            raise SystemExit(f"cordwood: {_CHOICE} is {chosen!r}; set {_REQUIRED} or {_NEVER}")
        return self.target_name == "wheel" and chosen != _NEVER and is_stable

    def _target(self) -> str:
        return os.environ.get("CORDWOOD_KERNELS_TARGET", "")

    def _compile(self, library: Path) -> bool:
        command = [sys.executable, "-m", "native.make_kernels", str(library), "--if-stale"]
        command += ["--target", self._target()] if self._target() else []
        return subprocess.run(command, cwd=self.root, check=False).returncode == 0

    def _report_failure(self) -> None:
        if os.environ.get(_CHOICE) == _REQUIRED:
            raise SystemExit("cordwood: the kernels could not be compiled")
        self.app.display_warning(
            "cordwood: the kernels could not be compiled (the reason is above), so this wheel is"
            " plain Python, which reads many times slower; install a wheel for your platform, or a"
            " C compiler"
        )
