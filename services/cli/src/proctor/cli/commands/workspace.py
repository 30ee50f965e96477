"""`proctor workspace`: who works together, and whether they may spend."""

from enum import StrEnum
from typing import Annotated

import typer

from proctor.cli.access import find_access
from proctor.cli.client import Client, segment
from proctor.cli.display.figures import DASH, age
from proctor.cli.display.table import make_table
from proctor.cli.documents import Json
from proctor.cli.failure import Misused
from proctor.cli.output import HomeOption, JsonOption, print_json, say, show

app = typer.Typer(no_args_is_help=True, help="Workspaces and their members.")

NameArgument = Annotated[str, typer.Argument(help="Name of a workspace.")]
UserArgument = Annotated[str, typer.Argument(help="E-mail or id of a member.")]


class Role(StrEnum):
    VIEWER = "viewer"
    MEMBER = "member"
    ADMIN = "admin"
    OWNER = "owner"


class Billing(StrEnum):
    OK = "ok"
    SUSPENDED = "suspended"


@app.command("list")
def list_workspaces(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List the workspaces you are in, with your role."""
    with Client(find_access(home)) as client:
        workspaces = client.get("workspaces")["items"]
    if as_json:
        print_json(workspaces)
        return
    rows = [(one["name"], one["role"], one["billing"], one["repo"] or DASH) for one in workspaces]
    show(make_table(("Name", "Role", "Billing", "Repository"), rows, optional=("Repository",)))


@app.command()
def create(
    name: NameArgument,
    owner: Annotated[str | None, typer.Option(help="E-mail of its owner.", show_default="yourself")] = None,
    repo: Annotated[str | None, typer.Option(help="OWNER/REPO on GitHub that stands for it.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a workspace; for operators."""
    body = {"name": name, "owner": owner, "repo": repo}
    with Client(find_access(home)) as client:
        made = client.post("workspaces", {key: value for key, value in body.items() if value is not None})
    _tell(made, f"made {made['name']}", as_json=as_json)


@app.command()
def info(name: NameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show one."""
    with Client(find_access(home)) as client:
        found = client.get(_path(name))
    if as_json:
        print_json(found)
        return
    say(f"{found['name']}, where you are {found['role']}, made {age(found['created_at'])}")
    say(f"billing     {found['billing']}")
    say(f"repository  {found['repo'] or DASH}")
    say(f"id          {found['id']}")


@app.command("bind-repo")
def bind_repo(
    name: NameArgument,
    repo: Annotated[str, typer.Argument(help="OWNER/REPO on GitHub, or `none`.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a GitHub repository stand for a workspace; for operators, but owners too may unbind it (`none`)."""
    with Client(find_access(home)) as client:
        changed = client.patch(_path(name), {"repo": None if repo == "none" else repo})
    _tell(changed, f"{changed['repo'] or 'no repository'} stands for {name}", as_json=as_json)


@app.command()
def billing(
    name: NameArgument,
    state: Annotated[Billing, typer.Argument(help="Whether its runs may start.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a workspace's runs start, or not; for owners."""
    with Client(find_access(home)) as client:
        changed = client.patch(_path(name), {"billing": state})
    _tell(changed, f"billing of {name} is {changed['billing']}", as_json=as_json)


@app.command()
def members(name: NameArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """List who is in it; for admins."""
    with Client(find_access(home)) as client:
        found = list(client.pages(f"{_path(name)}/members"))
    if as_json:
        print_json(found)
        return
    rows = [(one["email"], one["name"], one["role"], age(one["added_at"])) for one in found]
    show(make_table(("E-mail", "Name", "Role", "Added"), rows, dispensable=("Added",), name="Name"))


@app.command("add-member")
def add_member(
    name: NameArgument,
    email: Annotated[str, typer.Argument(help="E-mail of a user.")],
    role: Annotated[Role, typer.Option(help="What they may do.")] = Role.MEMBER,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Add a user; for owners."""
    with Client(find_access(home)) as client:
        added = client.post(f"{_path(name)}/members", {"email": email, "role": role})
    _tell(added, f"{added['email']} is {added['role']} of {name}", as_json=as_json)


@app.command("set-role")
def set_role(  # noqa: PLR0917 - typer calls it by name
    name: NameArgument,
    user: UserArgument,
    role: Annotated[Role | None, typer.Argument(help="What they may do.")] = None,
    chosen: Annotated[Role | None, typer.Option("--role", help="The same, as for add-member.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Change a member's role; for owners."""
    if (role is None) == (chosen is None):
        raise Misused(f"say one role, as in `set-role {name} {user} --role member`: {', '.join(Role)}")
    with Client(find_access(home)) as client:
        changed = client.patch(_path(name, user), {"role": role or chosen})
    _tell(changed, f"{changed['email']} is {changed['role']} of {name}", as_json=as_json)


@app.command("remove-member")
def remove_member(name: NameArgument, user: UserArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Take a member out, at once; for owners."""
    with Client(find_access(home)) as client:
        client.delete(_path(name, user))
    _tell({"workspace": name, "user": user, "removed": True}, f"removed {user} from {name}", as_json=as_json)


def _path(name: str, user: str | None = None) -> str:
    return f"workspaces/{segment(name)}" + (f"/members/{segment(user)}" if user else "")


def _tell(document: Json, text: str, *, as_json: bool) -> None:
    if as_json:
        print_json(document)
    else:
        say(text)
