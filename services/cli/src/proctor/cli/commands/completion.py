"""`proctor completion`: what makes a shell complete the words of this command."""

from enum import StrEnum
from typing import Annotated, Final

import typer
from typer.completion import get_completion_script  # pyright: ignore[reportPrivateImportUsage] - no other place has it

PROGRAM: Final = "proctor"
VARIABLE: Final = "_PROCTOR_COMPLETE"


class Shell(StrEnum):
    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="Whose script to print.")]) -> None:
    """Print the script that makes a shell complete commands, options and names; nothing is written.

    - bash: `eval "$(proctor completion bash)"` in `~/.bashrc`
    - zsh: `eval "$(proctor completion zsh)"` in `~/.zshrc`, after `compinit`
    - fish: `proctor completion fish > ~/.config/fish/completions/proctor.fish`
    """
    typer.echo(get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell))
