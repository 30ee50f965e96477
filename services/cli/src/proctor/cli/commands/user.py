"""`proctor user`: the people of an installation, for its operators."""

from typing import Annotated

import typer

from proctor.cli.access import find_access
from proctor.cli.client import Client
from proctor.cli.display.figures import age
from proctor.cli.display.table import make_table
from proctor.cli.output import HomeOption, JsonOption, notice, print_json, say, show
from proctor.cli.pasteable import pasteable

app = typer.Typer(no_args_is_help=True, help="Make users; for operators.")


@app.command("list")
def list_users(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List everyone on this installation."""
    with Client(find_access(home)) as client:
        users = list(client.pages("users"))
    if as_json:
        print_json(users)
        return
    rows = [(one["email"], one["name"], "yes" if one["operator"] else "no", age(one["created_at"])) for one in users]
    show(make_table(("E-mail", "Name", "Operator", "Made"), rows, dispensable=("Made",), name="Name"))


@app.command()
def create(
    email: Annotated[str, typer.Argument(help="E-mail, which the user is known by.")],
    name: Annotated[str | None, typer.Option(help="Name to show.", show_default="the e-mail's")] = None,
    operator: Annotated[bool, typer.Option("--operator", help="May make users and workspaces too.")] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a user, who then needs a token and a workspace."""
    body = {"email": email, "name": name or email.partition("@")[0], "operator": operator}
    with Client(find_access(home)) as client:
        made = client.post("users", body)
    if as_json:
        print_json(made)
        return
    say(f"made {made['email']}")
    notice(f"a token for them: {pasteable('token', 'create', '--user', made['email'], home=home)}")
    notice(f"a workspace: {pasteable('workspace', 'add-member', 'WORKSPACE', made['email'], home=home)}")
