"""The values of a run's environment: sealed at rest, given out only to the worker that holds the attempt."""
