"""`proctor token`: what scripts and other machines sign in with."""

from typing import Annotated

import typer

from proctor.cli.access import find_access
from proctor.cli.client import Client, segment
from proctor.cli.display.figures import age
from proctor.cli.display.table import make_table
from proctor.cli.expiry import read_expiry
from proctor.cli.output import HomeOption, JsonOption, notice, print_json, say, show

app = typer.Typer(no_args_is_help=True, help="Make and revoke API tokens.")

UserOption = Annotated[
    str | None, typer.Option("--user", help="E-mail of another user; for operators.", show_default="yourself")
]


@app.command("list")
def list_tokens(user: UserOption = None, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the tokens that aren't revoked, newest first."""
    with Client(find_access(home)) as client:
        tokens = list(client.pages("tokens", user=user))
    if as_json:
        print_json(tokens)
        return
    rows = [
        (one["name"], one["id"], age(one["created_at"]), age(one["last_used_at"]), one["expires_at"] or "never")
        for one in tokens
    ]
    show(make_table(("Name", "Id", "Made", "Used", "Expires"), rows, dispensable=("Made",)))


@app.command()
def create(
    name: Annotated[str, typer.Option(help="What it is for.")] = "proctor token create",
    expires: Annotated[str, typer.Option(help="When it ends: 12h, 90d, 4w or never.")] = "90d",
    user: UserOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token and print it, once, alone on stdout."""
    body = {"name": name, "expires_at": read_expiry(expires), **({"user": user} if user else {})}
    with Client(find_access(home)) as client:
        made = client.post("tokens", body)
    if as_json:
        print_json(made)
        return
    notice(f"token {made['id']}, good until {made['expires_at'] or 'it is revoked'}; printed once on stdout")
    typer.echo(made["token"])


@app.command()
def revoke(
    token: Annotated[str, typer.Argument(help="Id of a token, as `list` shows it.")],
    user: UserOption = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a token at once."""
    with Client(find_access(home)) as client:
        client.delete(f"tokens/{segment(token)}", user=user)
    if as_json:
        print_json({"id": token, "revoked": True})
    else:
        say(f"revoked {token}")
