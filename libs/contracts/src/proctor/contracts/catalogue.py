"""What each event type is to a reader: who writes it, how loud it is, which step of a run it belongs to, its log line
in English and Chinese, and whether outsiders may subscribe to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Literal, NamedTuple

from proctor.contracts.events import Event
from proctor.contracts.events.attempt import OfAttempt
from proctor.contracts.ids import Cell

Language = Literal["en", "zh"]


class Level(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Step(StrEnum):
    SYNC = "sync"
    SUBMIT = "submit"
    PLAN = "plan"
    DISPATCH = "dispatch"
    SANDBOX = "sandbox"
    AGENT = "agent"
    GRADE = "grade"
    RESULT = "result"
    STOP = "stop"
    CLEANUP = "cleanup"


class Writer(StrEnum):
    """A worker writes under its own id: every writer that is no other of these is one."""

    GATEWAY = "gateway"
    SCHEDULER = "scheduler"
    REGISTRY_SYNC = "registry-sync"
    WORKER = "worker"


LEVELS: Final[dict[Level, tuple[str, str]]] = {
    Level.DEBUG: ("bookkeeping between services", "服务之间的内部记录"),
    Level.INFO: ("the normal course", "正常流程"),
    Level.WARNING: (
        "something went wrong and is handled, or a result is worse for it",
        "出现问题但已处理，或影响了结果",
    ),
    Level.ERROR: ("something ended without the result it was for", "未能得到应有的结果"),
}
STEPS: Final[dict[Step, tuple[str, str]]] = {
    Step.SYNC: ("reading a benchmark's task list", "同步 task 列表"),
    Step.SUBMIT: ("the run is asked for", "提交 run"),
    Step.PLAN: ("tasks x agents x attempts are laid out", "生成执行计划"),
    Step.DISPATCH: ("an attempt waits for or gets a runner", "调度与派发"),
    Step.SANDBOX: ("its task environment starts", "启动 task environment"),
    Step.AGENT: ("the agent works", "agent 执行"),
    Step.GRADE: ("the verifier works", "评分"),
    Step.RESULT: ("an outcome is final", "得出结果"),
    Step.STOP: ("the run is stopped early", "停止 run"),
    Step.CLEANUP: ("sandboxes are removed", "清理 sandbox"),
}


class Part(NamedTuple):
    """Added to a line where `field` of the event is neither None, empty nor 0."""

    field: str
    en: str
    zh: str


class Entry(NamedTuple):
    """`en` and `zh` are `str.format` templates over the event's fields, `step_number`, which counts from 1, and
    `agent_name`.
    `raised` is the level where the event has an error kind. `public`: the feed carries it."""

    writer: Writer
    level: Level
    step: Step
    en: str
    zh: str
    parts: tuple[Part, ...] = ()
    raised: Level | None = None
    public: bool = False


_G, _S, _R, _W = Writer.GATEWAY, Writer.SCHEDULER, Writer.REGISTRY_SYNC, Writer.WORKER
_DEBUG, _INFO, _WARN, _ERROR = Level.DEBUG, Level.INFO, Level.WARNING, Level.ERROR

_STEP = Part("step_number", ", step {step_number}", "，第 {step_number} 步")
_KIND = Part("kind", ", {kind}", "，{kind}")
_MESSAGE = Part("message", ": {message}", "：{message}")
_REASON = Part("reason", ": {reason}", "：{reason}")

CATALOGUE: Final[dict[str, Entry]] = {
    "benchmark.added": Entry(_G, _INFO, Step.SYNC, "{name} ({key}) added", "已添加 {name}（{key}）", public=True),
    "benchmark.sync_requested": Entry(_G, _INFO, Step.SYNC, "sync requested", "已请求同步", public=True),
    "benchmark.sync_started": Entry(
        _R, _INFO, Step.SYNC, "sync started, {total} tasks", "开始同步，共 {total} 个 task", public=True
    ),
    "benchmark.page_synced": Entry(
        _R, _DEBUG, Step.SYNC, "{synced} of {total} tasks read", "已读取 {synced} / {total} 个 task"
    ),
    "benchmark.synced": Entry(
        _R,
        _INFO,
        Step.SYNC,
        "ready: {tasks} tasks, version {version}",
        "已就绪：{tasks} 个 task，版本 {version}",
        (Part("unavailable", ", {unavailable} not available", "，{unavailable} 个不可用"),),
        public=True,
    ),
    "benchmark.sync_failed": Entry(_R, _ERROR, Step.SYNC, "sync failed", "同步失败", (_REASON,), public=True),
    "benchmark.removed": Entry(_G, _INFO, Step.SYNC, "removed", "已移除", public=True),
    "run.submitted": Entry(
        _G,
        _INFO,
        Step.SUBMIT,
        "run {name} submitted on {benchmark_name}, version {version}",
        "已提交 run {name}，benchmark {benchmark_name}，版本 {version}",
        public=True,
    ),
    "run.planned": Entry(
        _S,
        _INFO,
        Step.PLAN,
        "planned: {tasks} tasks x {agents} agents x {attempts_per_task} attempts, {max_concurrent_attempts} at once",
        "已生成计划：{tasks} 个 task × {agents} 个 agent × {attempts_per_task} 次尝试，并发 {max_concurrent_attempts}",
        (Part("max_retries", ", up to {max_retries} retries", "，最多重试 {max_retries} 次"),),
        public=True,
    ),
    "run.waiting": Entry(_S, _INFO, Step.DISPATCH, "waiting", "等待中", (_REASON,)),
    "run.stop_requested": Entry(_G, _WARN, Step.STOP, "stop requested", "已请求停止", (_REASON,), public=True),
    "run.agent_stop_requested": Entry(
        _G,
        _WARN,
        Step.STOP,
        "stop of {agent_name} requested",
        "已请求停止 {agent_name}",
        (_REASON,),
    ),
    "run.paused": Entry(
        _G, _WARN, Step.DISPATCH, "paused: nothing more is dispatched", "已暂停派发", (_REASON,), public=True
    ),
    "run.resumed": Entry(_G, _INFO, Step.DISPATCH, "resumed", "已恢复", public=True),
    "run.budget_reached": Entry(
        _S,
        _WARN,
        Step.STOP,
        "budget reached: {used:g} of {limit:g} {unit} ({scope}); nothing more is dispatched",
        "预算已用尽：{used:g} / {limit:g} {unit}（{scope}），不再派发",
        public=True,
    ),
    "run.results_reused": Entry(
        _S,
        _INFO,
        Step.PLAN,
        "{count} results are taken over from run {source_name}: same task, agent and settings",
        "沿用 run {source_name} 的 {count} 个结果：task、agent 与设置相同",
    ),
    "run.attempts_cancelled": Entry(
        _S,
        _WARN,
        Step.STOP,
        "attempts without an outcome are cancelled",
        "未得出结果的尝试已取消",
        (Part("agent_name", ", those of {agent_name}", "，{agent_name}"), _REASON),
    ),
    "run.finished": Entry(
        _S,
        _INFO,
        Step.RESULT,
        "finished: {passed} passed, {failed} failed, {errored} errored, {cancelled} cancelled",
        "已完成：{passed} 通过，{failed} 未通过，{errored} 出错，{cancelled} 取消",
        public=True,
    ),
    "run.failed": Entry(_S, _ERROR, Step.RESULT, "failed", "失败", (_KIND, _MESSAGE), public=True),
    "run.stopped": Entry(_S, _WARN, Step.STOP, "stopped", "已停止", (_REASON,), public=True),
    "run.cleaned": Entry(_S, _INFO, Step.CLEANUP, "nothing of the run is left", "已全部清理", public=True),
    "sandbox.abandoned": Entry(
        _S,
        _WARN,
        Step.CLEANUP,
        "{worker} doesn't answer and may hold {count} sandboxes, which remove themselves",
        "{worker} 无响应，可能仍有 {count} 个 sandbox，到期会自行清理",
    ),
    "attempt.dispatched": Entry(
        _S, _DEBUG, Step.DISPATCH, "dispatched to pool {pool}, try {epoch}", "已派发到 {pool}，第 {epoch} 次执行"
    ),
    "attempt.claimed": Entry(_W, _INFO, Step.DISPATCH, "taken by {worker} on {host}", "由 {worker}（{host}）接手"),
    "attempt.sandbox_ready": Entry(
        _W,
        _INFO,
        Step.SANDBOX,
        "sandbox ready in {seconds:.1f} s, {backend}",
        "sandbox 已就绪，用时 {seconds:.1f} 秒，{backend}",
        (Part("note", " ({note})", "（{note}）"),),
    ),
    "attempt.agent_started": Entry(_W, _INFO, Step.AGENT, "agent started", "agent 已启动", (_STEP,)),
    "attempt.agent_finished": Entry(
        _W,
        _INFO,
        Step.AGENT,
        "agent ended after {seconds:.1f} s",
        "agent 结束，用时 {seconds:.1f} 秒",
        (_STEP, _KIND, _MESSAGE, Part("killed", "; {killed} processes killed", "；已终止 {killed} 个进程")),
        raised=_WARN,
    ),
    "attempt.errored": Entry(
        _W, _ERROR, Step.AGENT, "the try ended in phase {phase}", "本次执行在 {phase} 阶段出错", (_KIND, _MESSAGE)
    ),
    "attempt.retry_scheduled": Entry(
        _S,
        _WARN,
        Step.DISPATCH,
        "again in {delay:.0f} s, retry {tries}",
        "{delay:.0f} 秒后重试，第 {tries} 次",
        (_KIND,),
    ),
    "attempt.settled": Entry(
        _S, _ERROR, Step.RESULT, "{outcome} without a grade", "未经评分：{outcome}", (_KIND, _MESSAGE), public=True
    ),
    "attempt.retry_requested": Entry(_G, _INFO, Step.DISPATCH, "asked for once more", "已请求重新执行"),
    "attempt.lease_lost": Entry(
        _S,
        _WARN,
        Step.DISPATCH,
        "{worker} lost it",
        "{worker} 失去该尝试",
        (Part("reason", " ({reason})", "（{reason}）"),),
    ),
    "grade.dispatched": Entry(_S, _DEBUG, Step.GRADE, "grading dispatched, round {round}", "已派发评分，第 {round} 轮"),
    "grade.claimed": Entry(_W, _INFO, Step.GRADE, "graded by {worker}", "由 {worker} 评分"),
    "grade.lost": Entry(_S, _WARN, Step.GRADE, "grader {worker} lost it", "评分器 {worker} 失去该评分", (_REASON,)),
    "attempt.step_graded": Entry(_W, _INFO, Step.GRADE, "step {step_number} graded", "第 {step_number} 步已评分"),
    "attempt.step_dispatched": Entry(
        _S, _DEBUG, Step.AGENT, "step {step_number} may begin", "第 {step_number} 步可以开始"
    ),
    "attempt.graded": Entry(
        _W,
        _INFO,
        Step.RESULT,
        "graded {score} against {threshold}",
        "评分 {score}，阈值 {threshold}",
        (Part("passed", ", passed", "，通过"),),
        public=True,
    ),
    "attempt.grading_failed": Entry(
        _W, _ERROR, Step.GRADE, "the verifier gave no reward", "verifier 未给出 reward", (_KIND, _MESSAGE)
    ),
    "attempt.cleaned": Entry(_W, _DEBUG, Step.CLEANUP, "sandbox removed", "sandbox 已清理"),
}

_LANGUAGES: Final[dict[Language, int]] = {"en": 0, "zh": 1}
_SUBJECT: Final[dict[Language, str]] = {
    "en": "{agent}, {task}, attempt {number}: ",
    "zh": "{agent}，{task}，第 {number} 次尝试：",
}


@dataclass(frozen=True, slots=True)
class Names:
    """How a run's agents and tasks are called, by index; what isn't named is shown by its number."""

    agents: Sequence[str] = ()
    tasks: Sequence[str] = ()


def level_of(event: Event) -> Level:
    entry = CATALOGUE[event.type]
    return entry.raised if entry.raised and getattr(event, "kind", None) else entry.level


def line(event: Event, language: Language = "en", names: Names | None = None) -> str:
    """The event as one line of the log, with the attempt it is about in front."""
    entry = CATALOGUE[event.type]
    names = names or Names()
    fields = _fields(event, names)
    place = _LANGUAGES[language]
    templates = [(entry.en, entry.zh)[place]]
    templates += [(part.en, part.zh)[place] for part in entry.parts if fields.get(part.field)]
    text = "".join(template.format_map(fields) for template in templates)
    return _about(event, language, names) + " ".join(text.split())


def _fields(event: Event, names: Names) -> dict[str, Any]:
    fields = {name: getattr(event, name) for name in type(event).model_fields}
    step, agent = fields.get("step"), fields.get("agent")
    if step is not None:
        fields["step_number"] = step + 1
    if agent is not None:
        fields["agent_name"] = _named(names.agents, agent)
    return fields


def _about(event: Event, language: Language, names: Names) -> str:
    if not isinstance(event, OfAttempt):
        return ""
    cell = Cell.parse(event.attempt)
    return _SUBJECT[language].format(
        agent=_named(names.agents, cell.agent), task=_named(names.tasks, cell.task), number=cell.number
    )


def _named(names: Sequence[str], index: int) -> str:
    return names[index] if index < len(names) else f"#{index}"
