"""`proctor login`, `logout`, `whoami`: be somebody on a server."""

import os
from http import HTTPStatus
from typing import Annotated
from urllib.parse import urlsplit

import typer

from proctor.cli.access import PROFILE, Access, find_access
from proctor.cli.addresses import check_private, read_url
from proctor.cli.client import Client, Refused, segment
from proctor.cli.commands.profile import InsecureOption, forget, save, shown
from proctor.cli.completion import complete_profile
from proctor.cli.device_login import begin, wait_for_token
from proctor.cli.documents import Json, part
from proctor.cli.failure import Misused
from proctor.cli.output import HomeOption, JsonOption, notice, print_json, say
from proctor.cli.profiles import Profile, Profiles, check_name, read_profiles


def login(
    url: Annotated[str, typer.Argument(help="Address of the server.")],
    name: Annotated[
        str | None,
        typer.Option("--profile", help="What to call it.", show_default="its host", autocompletion=complete_profile),
    ] = None,
    workspace: Annotated[
        str | None, typer.Option(help="Workspace to work in there.", show_default="your first")
    ] = None,
    insecure: InsecureOption = False,
    as_json: JsonOption = False,
) -> None:
    """Sign in on a server: shows a code, waits until you approve it there, and takes the server into use."""
    address = read_url(url, "URL")
    check_private(address, "URL", insecure=insecure)
    name = check_name(name or os.environ.get(PROFILE) or _name(address))
    _check_free(read_profiles(), name, address)
    code = begin(address)
    notice(f"open {code.page} and approve the code {code.shown}")
    notice(f"or where you are signed in already: proctor device approve {code.shown}")
    profile = Profile(url=address, token=wait_for_token(address, code), workspace=workspace or None, insecure=insecure)
    saved = save(name, profile, use=True)
    with Client(Access(address, profile.token, profile.workspace, f"the profile {name}")) as client:
        who = client.get("whoami")
    if as_json:
        print_json({**shown(saved, name), "user": who["user"]})
    else:
        say(f"signed in as {who['user']['email']}; {name} is in use")


def logout(
    name: Annotated[
        str | None,
        typer.Argument(help="Name of a profile.", show_default="the one in use", autocompletion=complete_profile),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """End the token of a profile on its server, and forget the profile."""
    known = read_profiles()
    name = name or _meant(known)
    profile = known.find(name)
    check_private(profile.url, f"profile {name}", insecure=profile.insecure)
    revoked = _revoke(Access(profile.url, profile.token, token_place=f"the profile {name}"))
    forget(name)
    if as_json:
        print_json({"name": name, "revoked": revoked})
    else:
        say(f"signed out of {name}" if revoked else f"forgot {name}")


def whoami(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show the server, the user and the workspace that commands work with."""
    access = find_access(home)
    with Client(access) as client:
        who = client.get("whoami")
    if as_json:
        print_json({"url": access.url, **who})
        return
    workspace, token = part(who, "workspace"), part(who, "token")
    say(f"server     {access.url}")
    say(f"user       {who['user']['email']}{' (operator)' if who['user']['operator'] else ''}")
    say(f"workspace  {workspace['name']}, as {workspace['role']}" if workspace else "workspace  none yet")
    say(f"token      {token['name']}, {_until(token)}")


def _until(token: Json) -> str:
    return f"good until {token['expires_at'][:10]}" if token["expires_at"] else "good until it is revoked"


def _name(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.hostname}-{parts.port}".replace(":", "-") if parts.port else str(parts.hostname)


def _check_free(known: Profiles, name: str, url: str) -> None:
    """Signing in anew on the same server is fine."""
    if name in known.profiles and known.profiles[name].url != url:
        raise Misused(f"the profile {name} is for {known.profiles[name].url}: choose another name with --profile")


def _meant(known: Profiles) -> str:
    if not (name := os.environ.get(PROFILE) or known.use):
        raise Misused("no profile is in use: name one of `proctor profile list`")
    return name


def _revoke(access: Access) -> bool:
    """False where there was nothing to end. Raises Failure when the server can't be asked: the token stays good."""
    with Client(access) as client:
        try:
            client.delete(f"tokens/{segment(client.get('whoami')['token']['id'])}")
        except Refused as refusal:
            if refusal.status not in {HTTPStatus.UNAUTHORIZED, HTTPStatus.CONFLICT}:
                raise
            notice(f"{refusal.message}; the profile alone is removed")
            return False
    return True
