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
    RetryRequested,
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
    AgentStopRequested,
    Budget,
    BudgetReached,
    ResultsReused,
    RunCleaned,
    RunFailed,
    RunFinished,
    RunPaused,
    RunPlanned,
    RunResumed,
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
    | AgentStopRequested
    | RunPaused
    | RunResumed
    | BudgetReached
    | ResultsReused
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
    "AgentStopRequested",
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
    "Budget",
    "BudgetReached",
    "Event",
    "GradeClaimed",
    "GradeDispatched",
    "GradeLost",
    "GradingFailed",
    "LeaseLost",
    "PageSynced",
    "ResultsReused",
    "RetryRequested",
    "RetryScheduled",
    "RunCleaned",
    "RunEvent",
    "RunFailed",
    "RunFinished",
    "RunPaused",
    "RunPlanned",
    "RunResumed",
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
