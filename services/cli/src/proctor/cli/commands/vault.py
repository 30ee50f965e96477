"""`proctor vault`: the key that secrets are sealed with."""

import typer

from proctor.cli.access import find_access
from proctor.cli.client import Client
from proctor.cli.output import HomeOption, JsonOption, print_json, say

app = typer.Typer(no_args_is_help=True, help="Look after the key that secrets are sealed with.")


@app.callback()
def _group() -> None:
    """One command alone would be taken for the whole."""


@app.command()
def rotate(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Seal every secret with a new key, while the platform goes on; for operators.

    One that was cut short is taken up where it was.
    """
    with Client(find_access(home)) as client:
        rotated = client.post("vault/rotations", {})
    if as_json:
        print_json(rotated)
        return
    say(f"sealed {rotated['sealed']} values with key {rotated['key_id']}, which is in {rotated['source']}")
    if rotated["source"] == "PROCTOR_VAULT_KEY":
        say("PROCTOR_VAULT_OLD_KEYS can be taken out now")
