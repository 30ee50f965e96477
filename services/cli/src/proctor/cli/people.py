"""Users by their e-mail, where only their id is known."""

from proctor.cli.client import Client, Refused, segment
from proctor.cli.documents import part


def emails(client: Client) -> dict[str, str]:
    """Id -> e-mail of the workspace's members, or of yourself alone where you may not list them."""
    who = client.get("whoami")
    known = {who["user"]["id"]: who["user"]["email"]}
    if workspace := part(who, "workspace"):
        try:
            members = list(client.pages(f"workspaces/{segment(workspace['name'])}/members"))
        except Refused:
            return known
        known |= {member["id"]: member["email"] for member in members}
    return known
