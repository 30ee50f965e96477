"""Rates with intervals, paired comparison and ranking of entrants: pure functions of counts per task."""

from .comparison import Comparison, Ratio, compare, incomparable
from .curve import CurvePoint, curve
from .entrant import Entrant
from .means import Mean, mean
from .metric import Metric, measure
from .pareto import ParetoPoint, pareto
from .ranking import ALPHA, Board, Standing, default_k, holm, rank
from .rates import Rate, pass_at_1, pass_at_k, pass_hat_k
from .sign_flip import SignFlip, sign_flip_integers, sign_flip_reals

__all__ = [
    "ALPHA",
    "Board",
    "Comparison",
    "CurvePoint",
    "Entrant",
    "Mean",
    "Metric",
    "ParetoPoint",
    "Rate",
    "Ratio",
    "SignFlip",
    "Standing",
    "compare",
    "curve",
    "default_k",
    "holm",
    "incomparable",
    "mean",
    "measure",
    "pareto",
    "pass_at_1",
    "pass_at_k",
    "pass_hat_k",
    "rank",
    "sign_flip_integers",
    "sign_flip_reals",
]
