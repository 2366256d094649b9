"""Cost of imports: `python scripts/import_cost.py [REPEATS]`; `make bench` runs it.

Question: what does `import cordwood` cost, and what does the pytest entry point cost a project that
does not use it? Each figure is the best of several fresh interpreters, and counts the import alone.
"""

import subprocess
import sys

TIMED = """
import sys
{before}
from time import perf_counter
start = perf_counter()
import {module}
print((perf_counter() - start) * 1000)
"""

# (module, modules that the process has imported before, limit in milliseconds)
IMPORTS = (
    ("cordwood", "", 20),
    ("cordwood.testing.plugin", "import pytest", 5),
)


def cost_ms(module: str, before: str, *, repeats: int) -> float:
    """The best of several fresh interpreters."""
    command = [sys.executable, "-c", TIMED.format(module=module, before=before)]
    runs = (subprocess.run(command, check=True, capture_output=True) for _ in range(repeats))
    return min(float(run.stdout) for run in runs)


def main() -> None:
    """Prints one line an import."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    for module, before, goal in IMPORTS:
        figure = cost_ms(module, before, repeats=repeats)
        print(f"import {module}: {figure:.1f} ms (goal: at most {goal} ms)")


if __name__ == "__main__":
    main()
