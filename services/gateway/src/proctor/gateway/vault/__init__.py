"""Secrets and the literals of runs: sealed at rest, given out only to the worker that holds the attempt."""
