"""The append-only event log on NATS JetStream: the one place that builds subjects and guards."""

from proctor.eventlog.connection import connect
from proctor.eventlog.leader import Leadership
from proctor.eventlog.log import Conflict, EventLog, Unavailable
from proctor.eventlog.streams import ensure_streams

__all__ = ["Conflict", "EventLog", "Leadership", "Unavailable", "connect", "ensure_streams"]
