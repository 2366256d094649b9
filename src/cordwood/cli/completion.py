"""`cordwood completion`: scripts that let a shell complete commands, options and choices.

The script calls `cordwood completion words -- WORD...` for each completion; that command is hidden,
and `cli.usage.completion_words` answers it.
"""

from enum import StrEnum
from typing import Annotated, Final

import typer

from cordwood.cli.terminal import print_output

EXAMPLE: Final = "Example: source <(cordwood completion bash)"


class Shell(StrEnum):
    """The shells with a script."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


#: Each line of the answer is a word, a tab, and its help. Without an answer, files are completed.
SCRIPTS: Final = {
    Shell.BASH: r"""_cordwood() {
    local IFS=$'\n'
    COMPREPLY=($("$1" completion words -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o bashdefault -o default -F _cordwood cordwood
""",
    Shell.ZSH: r"""#compdef cordwood
_cordwood() {
    local line
    local -a described
    for line in "${(@f)$("$words[1]" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
        [[ -n $line ]] && described+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
    done
    if (( $#described )); then _describe cordwood described; else _files; fi
}
compdef _cordwood cordwood
""",
    Shell.FISH: r"""function __cordwood_words
    set -l typed (commandline -opc) (commandline -ct)
    cordwood completion words -- $typed[2..-1] 2>/dev/null
end
complete -c cordwood -a '(__cordwood_words)'
""",
}

ShellName = Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")]


def completion(shell: ShellName) -> None:
    """Print a script that lets a shell complete commands, options and choices."""
    print_output(SCRIPTS[shell].rstrip())


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(completion)
