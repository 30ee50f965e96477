"""A run whose rows are written by hand, so that every byte of both tables is known beforehand."""

import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from proctor.contracts.manifest import RunLock
from proctor.objects import artifact_name

RUN = "0123456789abcdef0123456789abcdef"
BEGIN = datetime(2026, 3, 4, 5, 6, 7, 250000, tzinfo=UTC)
NOTHING: dict[str, Any] = {"text": "", "jsonb": "{}", "boolean": False, "timestamp with time zone": BEGIN, "ARRAY": []}
RATE = {"value": 0.5, "ci_low": 0.125, "ci_high": 0.875, "n": 2, "n_eff": 2.0, "method": "wilson"}

SUMMARY = (
    "run_id,run_name,benchmark,benchmark_name,version,task_set,run_status,lock_digest,pass_threshold,submitted_at,"
    "started_at,ended_at,agent_index,agent_name,harness,model,endpoint,entrant,agent_status,expected,passed,failed,"
    "errored,cancelled,reused,counted,provisional,rank,tied,n_tasks,attempts_per_task,pass_at_1,pass_at_1_low,"
    "pass_at_1_high,pass_at_1_n,pass_at_1_method,cost_per_task,cost_per_task_low,cost_per_task_high,cost_per_task_n,"
    "time_per_task,time_per_task_low,time_per_task_high,time_per_task_n,tokens_per_task,tokens_per_task_low,"
    "tokens_per_task_high,tokens_per_task_n,tries_ended,tokens_reported,cost_reported,input_tokens,cached_tokens,"
    "output_tokens,cost_usd,sandbox_seconds,cpu_seconds,memory_peak_bytes,sandbox_cost_usd,position,figures_position,pass_at_2,pass_at_2_low,pass_at_2_high,"
    "pass_at_2_n,pass_at_2_method,pass_hat_2,pass_hat_2_low,pass_hat_2_high,pass_hat_2_n,pass_hat_2_method\r\n"
    f"{RUN},sly-fox,acme/tiny,'=Tiny,sha256:abc,full,running,sha256:{{lock}},0.50,2026-03-04T05:06:07.250000Z,"
    "2026-03-04T05:06:08.250000Z,,0,'+plus,command,,,command ('+plus),running,2,1,1,0,0,0,2,true,,false,1,2,0.5,0.125,"
    "0.875,2,wilson,0.25,,,1,1.5,1.0,2.0,1,,,,,2,2,1,300,0,20,0.25,9.5,,,,30,30,1.0,0.2,1.0,1,wilson,0.0,0.0,0.8,1,"
    "wilson\r\n"
    f"{RUN},sly-fox,acme/tiny,'=Tiny,sha256:abc,full,running,sha256:{{lock}},0.50,2026-03-04T05:06:07.250000Z,"
    "2026-03-04T05:06:08.250000Z,,1,,oracle,,,oracle,pending,2,0,0,0,0,0,,,,,,,,,,,,,,,,,,,,,,,,0,0,0,,,,,,,,,30,,,,,,,,,,,"
    "\r\n"
)
RESULTS = (
    "identity,agent_index,agent_name,harness,model,endpoint,task,category,difficulty,attempt,status,outcome,"
    "error_kind,fault,message,score,threshold,passed,counts,rewards,step_rewards,verifier_mode,tries,redispatches,"
    "task_digest,image,backend,input_tokens,cached_tokens,output_tokens,cost_usd,agent_steps,start_seconds,"
    "setup_seconds,agent_seconds,verifier_startup_seconds,verifier_transfer_seconds,verifier_run_seconds,"
    "verifier_parse_seconds,sandbox_seconds,sandbox_use,artifacts_cut,started_at,finished_at,reused_run,"
    "reused_attempt,run_id\r\n"
    "0-command-plus__a__1,0,'+plus,command,,,acme/a,code,easy,1,passed,passed,,,,1.0,0.50,true,true,"
    '"{""reward"":""1.0""}",,separate,0,0,sha256:0,host,bubblewrap,300,0,20,0.25,7,0.1,,1.5,0.0,0.25,0.5,0.0,4.5,,false,'
    f"2026-03-04T05:06:09.250000Z,2026-03-04T05:06:17.250000Z,,,{RUN}\r\n"
    "0-command-plus__a__2,0,'+plus,command,,,acme/a,code,easy,2,failed,failed,agent_timeout,agent,"
    '"\'=HYPERLINK(""x"")\nand, more",-1,0.50,false,true,,,separate,1,2,sha256:0,host,bubblewrap,,,,,,0.1,,1.5,'
    f",,,,,,true,2026-03-04T05:06:09.250000Z,2026-03-04T05:06:17.250000Z,,,{RUN}\r\n"
)


def tar_of(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


@dataclass
class Shop:
    """The run's rows and what the gateway answers about it, by both doors."""

    gateway: Any
    lock: str = ""
    wire: dict[str, str] = field(default_factory=dict)

    async def insert(self, table: str, **columns: Any) -> None:
        """What must be there and isn't given is the zero of its type."""
        needed = await self.gateway.database.fetch(
            "SELECT column_name, data_type FROM information_schema.columns "
            "WHERE table_schema = 'leaderboard' AND table_name = $1 AND is_nullable = 'NO' AND column_default IS NULL",
            table,
        )
        zeros = {column["column_name"]: NOTHING.get(column["data_type"], 0) for column in needed}
        row = {**zeros, "workspace": self.gateway.workspace, "run": RUN, **columns}
        places = ", ".join(f"${number}" for number in range(1, len(row) + 1))
        await self.gateway.database.execute(
            f"INSERT INTO leaderboard.{table} ({', '.join(row)}) VALUES ({places})", *row.values()
        )

    async def result(self, number: int, valid_from: int, **columns: Any) -> None:
        known: dict[str, Any] = {
            "attempt": f"0-0-{number}",
            "identity": f"0-command-plus__a__{number}",
            "agent": 0,
            "task": 0,
            "number": number,
            "task_name": "acme/a",
            "category": "code",
            "difficulty": "easy",
            "threshold": Decimal("0.50"),
            "counts": True,
            "image": "host",
            "backend": "bubblewrap",
            "start_seconds": 0.1,
            "agent_seconds": 1.5,
            "agent_artifacts": [artifact_name(RUN, f"0-0-{number}", 1, "agent")],
            "started_at": BEGIN + timedelta(seconds=2),
            "finished_at": BEGIN + timedelta(seconds=10),
        }
        await self.insert("results", valid_from=valid_from, **{**known, **columns})

    async def move(self, position: int) -> None:
        """The run's log goes on."""
        about = {"type": "attempt.claimed", "level": "info", "step": "dispatch"}
        await self.insert("log", sequence=position, **about)

    async def get(self, path: str, **options: Any) -> httpx.Response:
        return await self.gateway.client.get(f"/api/v1/runs/{RUN}/outputs{path}", **options)

    async def manifest(self, types: str) -> list[dict[str, Any]]:
        answer = await self.gateway.client.get(
            f"/api/cli/benchmark-runs/{RUN}/outputs/manifest", params={"types": types}, headers=self.wire
        )
        assert answer.status_code == 200, answer.text
        files = answer.json()["files"]
        assert answer.json()["totals"] == {"files": len(files), "bytes": sum(file["size"] for file in files)}
        return files

    async def addresses(self, items: Any) -> httpx.Response:
        return await self.gateway.client.post(
            f"/api/cli/benchmark-runs/{RUN}/outputs/download-urls", json={"items": items}, headers=self.wire
        )

    async def download(self, files: list[dict[str, Any]]) -> dict[str, bytes]:
        """As the osmosis command does: addresses first, then each without authorization."""
        answer = await self.addresses([{"path": file["path"], "token": file["token"]} for file in files])
        assert answer.status_code == 200, answer.text
        found: dict[str, bytes] = {}
        async with httpx.AsyncClient() as stranger:
            for item, file in zip(answer.json()["items"], files, strict=True):
                assert (item["path"], item["token"]) == (file["path"], file["token"])
                sent = await stranger.get(item["url"])
                assert sent.status_code == 200, sent.text
                assert len(sent.content) == file["size"] == int(sent.headers["content-length"])
                found[file["path"]] = sent.content
        return found


@pytest.fixture
async def shop(gateway: Any, manifest: Any) -> Shop:
    made = Shop(gateway, wire={"X-Osmosis-Workspace": gateway.workspace})
    task = manifest.tasks[0].model_copy(
        update={"name": "acme/a", "verifier_mode": "separate", "category": "code", "difficulty": "easy"}
    )
    config = {"experiment": {"benchmark": "acme/tiny"}, "agents": [{"name": "+plus", "harness": "command"}]}
    lock = RunLock.model_validate(
        {
            "proctor_version": "0",
            "benchmark": "b",
            "benchmark_key": "acme/tiny",
            "version": "sha256:abc",
            "task_set": "full",
            "pass_threshold": "0.50",
            "config": config,
            "tasks": [task.model_dump()],
        }
    )
    name = await gateway.objects.put_once("lock", lock.model_dump_json().encode())
    made.lock = name.removeprefix("lock/")
    await made.insert(
        "runs",
        name="sly-fox",
        benchmark_key="acme/tiny",
        benchmark_name="=Tiny",
        version="sha256:abc",
        pass_threshold=Decimal("0.50"),
        status="running",
        task_set="full",
        lock=name,
        attempts_per_task=2,
        submitted_at=BEGIN,
        started_at=BEGIN + timedelta(seconds=1),
        position=20,
    )
    metrics = {
        "provisional": True,
        "rank": None,
        "tied": False,
        "n_tasks": 1,
        "attempts_per_task": 2,
        "counted": 2,
        "expected": 2,
        "pass_at_1": RATE,
        "pass_at_k": [
            {"k": 1, **RATE},
            {"k": 2, "value": 1.0, "ci_low": 0.2, "ci_high": 1.0, "n": 1, "method": "wilson"},
        ],
        "pass_hat_k": [
            {"k": 1, **RATE},
            {"k": 2, "value": 0.0, "ci_low": 0.0, "ci_high": 0.8, "n": 1, "method": "wilson"},
        ],
        "cost_per_task": {"value": 0.25, "ci_low": None, "ci_high": None, "tasks": 1, "missing": 0},
        "time_per_task": {"value": 1.5, "ci_low": 1.0, "ci_high": 2.0, "tasks": 1, "missing": 0},
        "tokens_per_task": None,
    }
    tries = {"tries_ended": 2, "tokens_reported": 2, "cost_reported": 1}
    used = {"input_tokens": 300, "cached_tokens": 0, "output_tokens": 20, "cost_usd": 0.25, "sandbox_seconds": 9.5}
    await made.insert(
        "agents",
        agent=0,
        name="+plus",
        harness="command",
        entrant="command ('+plus)",
        status="running",
        expected=2,
        passed=1,
        failed=1,
        **tries,
        **used,
        metrics=json.dumps(metrics),
        metrics_position=30,
        position=30,
    )
    await made.insert(
        "agents",
        agent=1,
        harness="oracle",
        entrant="oracle",
        status="pending",
        expected=2,
        position=1,
    )
    await made.result(1, 10, status="claimed", valid_to=25, counts=False)
    usage = {"input_tokens": 300, "cached_tokens": 0, "output_tokens": 20, "cost_usd": 0.25, "agent_steps": 7}
    verifier = {"startup": 0.0, "transfer": 0.25, "run": 0.5, "parse": 0.0}
    await made.result(
        1,
        25,
        status="passed",
        outcome="passed",
        score=Decimal("1.0"),
        passed=True,
        rewards='{"reward": "1.0"}',
        sandbox_seconds=4.5,
        verifier_artifacts=[artifact_name(RUN, "0-0-1", 1, "verifier")],
        **usage,
        **{f"verifier_{phase}_seconds": seconds for phase, seconds in verifier.items()},
    )
    await made.result(
        2,
        28,
        status="failed",
        outcome="failed",
        kind="agent_timeout",
        fault="agent",
        message='=HYPERLINK("x")\nand, more',
        score=Decimal(-1),
        passed=False,
        tries=1,
        redispatches=2,
        artifacts_cut=True,
    )
    await made.move(30)
    files = {"output.txt": b"hello\n", "deep/raw.bin": bytes(range(256)) * 2000, "back\\slash": b"", "../../up": b"u"}
    await gateway.objects.put(artifact_name(RUN, "0-0-1", 1, "agent"), tar_of(files))
    await gateway.objects.put(artifact_name(RUN, "0-0-1", 1, "verifier"), tar_of({"reward.txt": b"1.0"}))
    await gateway.objects.put(artifact_name(RUN, "0-0-2", 1, "agent"), tar_of({"output.txt": b"second"}))
    return made


FILES = {
    "artifacts/0-command-plus__a__1/agent/output.txt": b"hello\n",
    "artifacts/0-command-plus__a__1/agent/deep/raw.bin": bytes(range(256)) * 2000,
    "artifacts/0-command-plus__a__1/agent/back\ufffdslash": b"",
    "artifacts/0-command-plus__a__1/agent/up": b"u",
    "artifacts/0-command-plus__a__1/verifier/reward.txt": b"1.0",
    "artifacts/0-command-plus__a__2/agent/output.txt": b"second",
}


@pytest.fixture(scope="session")
def known() -> Any:
    """What the run is called, and what its files hold."""
    return SimpleNamespace(run=RUN, summary=SUMMARY, results=RESULTS, files=FILES, tar=tar_of, shop=Shop)
