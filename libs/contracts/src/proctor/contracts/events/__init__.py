"""Every event, one tagged union per aggregate."""

from typing import Annotated

from pydantic import Field, TypeAdapter

from proctor.contracts.events.attempt import (
    AgentFinished,
    AgentStarted,
    Artifacts,
    AttemptCancelled,
    AttemptClaimed,
    AttemptCleaned,
    AttemptDispatched,
    AttemptErrored,
    AttemptEvent,
    AttemptGraded,
    AttemptSettled,
    GradeClaimed,
    GradeDispatched,
    GradeLost,
    GradingFailed,
    LeaseLost,
    RetryScheduled,
    SandboxReady,
    StepDispatched,
    StepGraded,
    Usage,
)
from proctor.contracts.events.benchmark import (
    BenchmarkAdded,
    BenchmarkRemoved,
    PageSynced,
    Synced,
    SyncFailed,
    SyncRequested,
    SyncStarted,
)
from proctor.contracts.events.run import (
    RunCleaned,
    RunFailed,
    RunFinished,
    RunPlanned,
    RunStopped,
    RunSubmitted,
    RunWaiting,
    SandboxAbandoned,
    StopRequested,
)

RunEvent = Annotated[
    RunSubmitted
    | RunPlanned
    | RunWaiting
    | StopRequested
    | AttemptCancelled
    | RunFinished
    | RunFailed
    | RunStopped
    | RunCleaned
    | SandboxAbandoned
    | AttemptEvent,
    Field(discriminator="type"),
]
BenchmarkEvent = Annotated[
    BenchmarkAdded | SyncRequested | SyncStarted | PageSynced | Synced | SyncFailed | BenchmarkRemoved,
    Field(discriminator="type"),
]
Event = RunEvent | BenchmarkEvent

ANY_EVENT: TypeAdapter[Event] = TypeAdapter(Annotated[Event, Field(discriminator="type")])

__all__ = [
    "ANY_EVENT",
    "AgentFinished",
    "AgentStarted",
    "Artifacts",
    "AttemptCancelled",
    "AttemptClaimed",
    "AttemptCleaned",
    "AttemptDispatched",
    "AttemptErrored",
    "AttemptEvent",
    "AttemptGraded",
    "AttemptSettled",
    "BenchmarkAdded",
    "BenchmarkEvent",
    "BenchmarkRemoved",
    "Event",
    "GradeClaimed",
    "GradeDispatched",
    "GradeLost",
    "GradingFailed",
    "LeaseLost",
    "PageSynced",
    "RetryScheduled",
    "RunCleaned",
    "RunEvent",
    "RunFailed",
    "RunFinished",
    "RunPlanned",
    "RunStopped",
    "RunSubmitted",
    "RunWaiting",
    "SandboxAbandoned",
    "SandboxReady",
    "StepDispatched",
    "StepGraded",
    "StopRequested",
    "SyncFailed",
    "SyncRequested",
    "SyncStarted",
    "Synced",
    "Usage",
]
