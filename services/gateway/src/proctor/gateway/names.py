"""Run names: an adjective and a noun, with a number once that pair is taken."""

from collections.abc import Set as AbstractSet
from itertools import count
from typing import Final

ADJECTIVES: Final = tuple(
    """
    agile amber ample azure bold brave bright brisk calm candid civil clear clever cosmic crisp curious daring
    deep eager early fair fleet fond frank fresh gentle glad golden grand happy hardy honest humble ideal
    jolly keen kind lively lucid lunar merry mellow mighty modest neat nimble noble patient placid plucky
    polite proud quick quiet rapid ready robust serene sharp silent smooth solar stable steady sturdy subtle
    sunny swift tidy vivid warm wise witty
    """.split()  # noqa: SIM905 - a list of words reads best as words
)
NOUNS: Final = tuple(
    """
    acorn alder anchor aspen badger basil beacon birch bison brook canyon cedar cliff clover comet condor
    coral crane delta dune eagle ember falcon fern finch fjord forest fox garnet geyser glacier grove harbor
    hazel heron ibis iris juniper kestrel lagoon lark linden lotus lynx maple marten meadow meteor moss myrtle
    nebula oak orchid osprey otter pebble pine plover quartz quail raven reef river robin sable sparrow spruce
    summit thistle tulip valley willow wren
    """.split()  # noqa: SIM905 - a list of words reads best as words
)


def stem(run: str) -> str:
    """The pair that a run's id (hex) picks."""
    number = int(run, 16)
    return f"{ADJECTIVES[number % len(ADJECTIVES)]}-{NOUNS[number // len(ADJECTIVES) % len(NOUNS)]}"


def free_name(pair: str, taken: AbstractSet[str]) -> str:
    """The pair itself, else with the first number from 2 that is free."""
    return next(name for n in count(1) if (name := pair if n == 1 else f"{pair}-{n}") not in taken)
