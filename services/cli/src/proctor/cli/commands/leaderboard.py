"""`proctor leaderboard`: who is ahead."""

from proctor.cli.access import find_access
from proctor.cli.arguments import BenchmarkArgument
from proctor.cli.benchmarks import find_benchmark
from proctor.cli.client import Client, segment
from proctor.cli.display.board import board_notes, board_rows, board_table
from proctor.cli.documents import Json
from proctor.cli.output import HomeOption, JsonOption, print_json, say, show


def leaderboard(
    benchmark: BenchmarkArgument,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show a benchmark's leaderboard: one row for each harness and model."""
    with Client(find_access(home)) as client:
        found = find_benchmark(client, benchmark)
        board = client.get(f"benchmarks/{segment(found['id'])}/leaderboard")
    if as_json:
        print_json(board)
    else:
        show_board(board)


def show_board(board: Json) -> None:
    if board_rows(board):
        show(board_table(board))
    else:
        say("no run counts yet")
    for note in board_notes(board):
        say(note)
