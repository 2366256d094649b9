"""`cordwood completion` prints a script that the shell itself runs."""

import shutil
import subprocess
import sys

import pytest

from cordwood.cli.completion import SCRIPTS, Shell

BASH = shutil.which("bash")
PROGRAM = """
cordwood() {{ {python} -m cordwood "$@"; }}
eval "$(cordwood completion bash)"
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_cordwood cordwood
printf '%s\\n' "${{COMPREPLY[@]}}"
complete -p cordwood
"""


@pytest.mark.skipif(BASH is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "offered"),
    (
        ("cordwood topics cr", ["create"]),
        ("cordwood topics create --placement ''", ["cluster", "textbook"]),
        ("cordwood produce --file 'a b'", [""]),
    ),
)
def test_bash_completes_by_the_script(words: str, offered: list[str]) -> None:
    program = PROGRAM.format(python=sys.executable, words=words)
    done = subprocess.run(
        (str(BASH), "--norc", "-c", program),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )

    *found, registered = done.stdout.splitlines()
    assert found == offered
    assert registered == "complete -o bashdefault -o default -F _cordwood cordwood"
    assert done.stderr == ""


@pytest.mark.parametrize("shell", Shell)
def test_each_shell_that_is_installed_can_parse_its_script(shell: Shell) -> None:
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"{shell} is not installed")

    subprocess.run((program, "-n"), input=SCRIPTS[shell].encode(), check=True, timeout=60)
