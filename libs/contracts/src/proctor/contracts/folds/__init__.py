"""The state of an aggregate, rebuilt from its events: no I/O, no clock."""
