"""Options of the whole command line where a person types them: before the command or after it."""

from collections.abc import Sequence
from typing import Any, Final

from typer.core import TyperGroup

_END: Final = "--"
_OF_COMMANDS: Final = {"--home": True, "--json": False}
"""What most commands take, which may stand before the command as well, and whether it has a value."""


def arranged(words: Sequence[str], root: TyperGroup) -> list[str]:
    """The options of `root` in front, those of most commands right behind the command. Values stay with their options;
    what a command takes itself, or stands after `--`, stays where it is."""
    everywhere = _options(root)
    front: list[str] = []
    path: list[str] = []
    early: list[str] = []
    rest: list[str] = []
    left, command = list(words), root
    while left and left[0] != _END:
        own = {} if command is root else _options(command)
        name, valued = left[0].partition("=")[0], {**_OF_COMMANDS, **everywhere, **own}.get(left[0], False)
        group, left = left[: 1 + valued], left[1 + valued :]
        if name in own:
            rest += group
        elif name in everywhere:
            if len(group) <= valued:  # in front, the command would be taken for its value
                return group
            front += group
        elif not isinstance(command, TyperGroup):
            rest += group
        elif name in _OF_COMMANDS:
            early += group
        elif name in command.commands:
            path += [*rest, name]
            rest, command = [], command.commands[name]
        else:
            rest += group
    return [*front, *path, *early, *rest, *left]


def _options(command: Any) -> dict[str, bool]:  # noqa: ANN401 - Typer's base class is private
    """Each option, and whether it has a value."""
    return {
        name: not parameter.is_flag
        for parameter in command.params
        if parameter.param_type_name == "option"
        for name in (*parameter.opts, *parameter.secondary_opts)
    }
