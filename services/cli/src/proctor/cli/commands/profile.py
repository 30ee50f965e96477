"""`proctor profile`: the servers you work with, and which of them is meant."""

import sys
from typing import Annotated

import typer

from proctor.cli.access import INSECURE, Access
from proctor.cli.addresses import check_private, read_url
from proctor.cli.client import Client
from proctor.cli.completion import complete_profile
from proctor.cli.display.figures import DASH
from proctor.cli.display.table import make_table
from proctor.cli.documents import Json
from proctor.cli.failure import Misused
from proctor.cli.output import JsonOption, print_json, say, show
from proctor.cli.profiles import Profile, Profiles, change_profiles, check_name, profiles_file, read_profiles

app = typer.Typer(no_args_is_help=True, help="Keep the servers you work with.")

NameArgument = Annotated[str, typer.Argument(help="Name of a profile.", autocompletion=complete_profile)]
InsecureOption = Annotated[
    bool, typer.Option("--insecure", envvar=INSECURE, help="Let the token go to another machine by plain http.")
]


@app.command()
def add(  # noqa: PLR0917 - typer calls it by name
    name: Annotated[str, typer.Argument(help="What to call it.")],
    url: Annotated[str, typer.Option(help="Address of the server.")],
    workspace: Annotated[
        str | None, typer.Option(help="Workspace to work in there.", show_default="your first")
    ] = None,
    insecure: InsecureOption = False,
    check: Annotated[bool, typer.Option("--check/--no-check", help="Ask the server whether the token is good.")] = True,
    as_json: JsonOption = False,
) -> None:
    """Add a server, with a token from stdin or asked for; the first one is taken into use.

    `proctor login URL` makes the token as well.
    """
    check_name(name)
    address = read_url(url, "--url")
    check_private(address, "--url", insecure=insecure)
    if name in read_profiles().profiles:
        raise Misused(f"there is a profile {name} already: choose another name, or `proctor profile remove {name}`")
    profile = Profile(url=address, token=_token(), workspace=workspace or None, insecure=insecure)
    if check:
        with Client(Access(address, profile.token, profile.workspace, "the token")) as client:
            client.get("whoami")
    saved = save(name, profile, use=False)
    if as_json:
        print_json(shown(saved, name))
    else:
        say(f"added {name}, {address}{', in use' if saved.use == name else ''}")


@app.command("list")
def list_profiles(as_json: JsonOption = False) -> None:
    """List the servers; the one in use is marked."""
    known = read_profiles()
    documents = [shown(known, name) for name in known.profiles]
    if as_json:
        print_json(documents)
        return
    if not documents:
        say(f"no profile in {profiles_file()}: `proctor login URL` adds one")
        return
    rows = [("*" if one["in_use"] else "", one["name"], one["url"], one["workspace"] or DASH) for one in documents]
    show(make_table(("", "Name", "URL", "Workspace"), rows, optional=("Workspace",), name="URL"))


@app.command()
def use(name: NameArgument, as_json: JsonOption = False) -> None:
    """Talk to this server from now on."""

    def using(known: Profiles) -> Profiles:
        known.find(name)
        return known.using(name)

    saved = change_profiles(using)
    if as_json:
        print_json(shown(saved, name))
    else:
        say(f"{name} is in use: {saved.profiles[name].url}")


@app.command()
def remove(name: NameArgument, as_json: JsonOption = False) -> None:
    """Forget a server; its token stays good: `proctor logout` ends that too."""
    forget(name)
    if as_json:
        print_json({"name": name, "removed": True})
    else:
        say(f"removed {name}")


def save(name: str, profile: Profile, *, use: bool) -> Profiles:
    return change_profiles(lambda known: known.having(name, profile, use=use or not known.profiles))


def forget(name: str) -> Profiles:
    def left(known: Profiles) -> Profiles:
        known.find(name)
        return known.without(name)

    return change_profiles(left)


def shown(known: Profiles, name: str) -> Json:
    """Never with the token."""
    return {"name": name, **known.profiles[name].model_dump(exclude={"token"}), "in_use": known.use == name}


def _token() -> str:
    text = typer.prompt("Token", hide_input=True, err=True) if sys.stdin.isatty() else sys.stdin.readline()
    if not (token := str(text).strip()):
        raise Misused("there is no token on stdin: give it one, or use `proctor login URL`")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise Misused("what is on stdin can't be a token: those are ASCII without spaces")
    return token
