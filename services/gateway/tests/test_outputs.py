"""Downloads of a run whose rows are written by hand, so that every byte of both tables is known beforehand."""

import asyncio
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
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


async def test_every_byte_of_a_run(shop: Shop) -> None:
    expected = {
        "summary.csv": SUMMARY.format(lock=shop.lock).encode(),
        "results.csv": RESULTS.encode(),
        **FILES,
        "logs.txt": b"",
    }
    files = await shop.manifest("summary,results,artifacts,logs")
    assert {file["path"]: file["size"] for file in files} == {path: len(data) for path, data in expected.items()}
    assert len(files) == len(expected)
    assert await shop.download(files) == expected

    listed = (await shop.get("", params={"types": "all"})).json()
    assert {file["path"]: file["size"] for file in listed["items"]} == {
        **{path: len(data) for path, data in expected.items()},
        "lock.json": len((await shop.get("/lock.json")).content),
    }
    for path, data in expected.items():
        file = await shop.get(f"/{path}")
        assert file.content == data
        if path.endswith(".csv"):
            assert file.headers.get_list("content-type") == ["text/csv; charset=utf-8; header=present"]
    assert (await shop.get("/lock.json")).json()["tasks"][0]["name"] == "acme/a"
    assert [file["path"] for file in await shop.manifest("results,summary")] == ["results.csv", "summary.csv"]


async def test_a_snapshot_stays_while_the_run_goes_on(shop: Shop) -> None:
    before = await shop.manifest("summary,results,artifacts")
    listed = (await shop.get("")).json()
    replaced = artifact_name(RUN, "0-0-1", 2, "agent")
    await shop.gateway.objects.put(replaced, tar_of({"output.txt": b"another try"}))
    await shop.gateway.database.execute("UPDATE leaderboard.results SET valid_to = 31 WHERE valid_from = 25")
    await shop.result(1, 31, status="agent_running", epoch=2, counts=False, agent_artifacts=[replaced])
    await shop.gateway.database.execute("UPDATE leaderboard.agents SET passed = 0, cost_usd = 1000.5 WHERE agent = 0")
    await shop.move(31)

    again = await shop.download(before)
    assert again["summary.csv"] == SUMMARY.format(lock=shop.lock).encode()
    assert again["results.csv"] == RESULTS.encode()
    assert again["artifacts/0-command-plus__a__1/agent/output.txt"] == b"hello\n"
    old = await shop.get("/results.csv", params={"snapshot": listed["snapshot"]})
    assert old.content == RESULTS.encode()

    after = await shop.download(await shop.manifest("summary,results,artifacts"))
    assert b",running,2,0,1,0,0,0," in after["summary.csv"]
    assert b",1,agent_running,,,,," in after["results.csv"]
    assert after["artifacts/0-command-plus__a__1/agent/output.txt"] == b"another try"
    assert "artifacts/0-command-plus__a__1/verifier/reward.txt" not in after
    assert (await shop.get("/results.csv")).content == after["results.csv"]


async def test_a_run_without_results_has_both_tables_and_one_that_waits_has_none(shop: Shop) -> None:
    await shop.gateway.database.execute("DELETE FROM leaderboard.results")
    empty = await shop.download(await shop.manifest("summary,results"))
    assert empty["results.csv"] == RESULTS[: RESULTS.index("\r\n") + 2].encode()
    for status in ("pending", "queued"):
        await shop.gateway.database.execute("UPDATE leaderboard.runs SET status = $1", status)
        for answer in (
            await shop.gateway.client.get(f"/api/cli/benchmark-runs/{RUN}/outputs/manifest", headers=shop.wire),
            await shop.get(""),
            await shop.get("/results.csv"),
        ):
            assert answer.status_code == 409
            assert status in answer.json()["error"]


async def test_what_isnt_in_the_snapshot(shop: Shop) -> None:
    token = (await shop.manifest("summary"))[0]["token"]
    identity = "artifacts/0-command-plus__a__1"
    absent = [
        "results",
        "lock.txt",
        "/summary.csv",
        "../summary.csv",
        "summary.csv/",
        f"{identity}/agent",
        f"{identity}/agent/../agent/output.txt",
        f"{identity}/agent//output.txt",
        f"{identity}/agent/back\\slash",
        f"{identity}/agent-2/output.txt",
        "artifacts/../../../etc/passwd",
        "artifacts/none/agent/output.txt",
        "",
        "results.csv",
    ]
    for path in absent:
        answer = await shop.addresses([{"path": path, "token": token}])
        assert answer.status_code == 400, path
        assert "ask for the manifest again" in answer.json()["error"]
        quoted = path.replace("\\", "%5C")
        if path not in {"", "/summary.csv", "results.csv", "summary.csv/"} and ".." not in path and "//" not in path:
            assert (await shop.get(f"/{quoted}")).status_code == 404, path
    for escape in ("/..%2fsummary.csv", "/artifacts/..%2f..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/x"):
        assert (await shop.get(escape)).status_code == 404
    wrong: list[Any] = [[], [{"path": "summary.csv", "token": token}] * 501, [{}], "x", None, [{"path": 1}]]
    for items in wrong:
        assert (await shop.addresses(items)).status_code == 400
    unfit = await shop.addresses([{"path": "summary.csv", "token": token}, {"path": "artifacts/a\0b", "token": token}])
    assert (unfit.status_code, unfit.json()["field"]) == (400, "items[1].path"), unfit.text
    assert (await shop.addresses([{"path": "summary.csv", "token": token}] * 500)).status_code == 200
    assert (await shop.addresses([{"path": "summary.csv"}])).status_code == 200
    for forged in (f"{token}x", "", "1.2.3", token.replace("30", "31", 1)):
        answer = await shop.addresses([{"path": "summary.csv", "token": forged}])
        assert (answer.status_code, answer.json()["field"]) == (400, "token")
    unknown = await shop.gateway.client.get(
        f"/api/cli/benchmark-runs/{RUN}/outputs/manifest?types=summary,pictures", headers=shop.wire
    )
    assert unknown.status_code == 400
    assert "pictures" in unknown.text


async def test_another_workspace_sees_nothing(shop: Shop) -> None:
    token = (await shop.manifest("summary"))[0]["token"]
    other = f"{shop.gateway.workspace}-b"
    await shop.gateway.database.execute("INSERT INTO gateway.workspaces (id, name) VALUES ($1, $1)", other)
    await shop.gateway.database.execute(
        "INSERT INTO gateway.members (workspace, member, role) VALUES ($1, 'owner', 'owner')", other
    )
    theirs = {"Proctor-Workspace": other}
    for path in ("", "/summary.csv", f"/summary.csv?snapshot={token}", "/none"):
        assert (await shop.get(path, headers=theirs)).status_code == 404
    shop.wire = {"X-Osmosis-Workspace": other}
    assert (await shop.addresses([{"path": "summary.csv", "token": token}])).status_code == 404
    manifest = f"/api/cli/benchmark-runs/{RUN}/outputs/manifest"
    assert (await shop.gateway.client.get(manifest, headers=shop.wire)).status_code == 404


async def test_an_address_is_absolute_and_changed_by_nobody(shop: Shop) -> None:
    (file,) = await shop.manifest("summary")
    url = (await shop.addresses([file])).json()["items"][0]["url"]
    assert url.startswith(str(shop.gateway.client.base_url).rstrip("/") + "/api/v1/files/")
    assert url.endswith("/summary.csv")
    async with httpx.AsyncClient() as stranger:
        assert (await stranger.get(url, headers={"Authorization": "Bearer nonsense"})).status_code == 200
        for changed in (url.replace("/summary.csv", "x/summary.csv"), url.replace("/files/", "/files/A")):
            answer = await stranger.get(changed)
            assert (answer.status_code, answer.json()["code"]) == (403, "DOWNLOAD_INVALID")
    by_name = {"Host": "proctor.example:8443"}
    answer = await shop.gateway.client.get(f"/api/v1/runs/{RUN}/outputs", headers=by_name)
    assert answer.json()["items"][0]["url"].startswith("http://proctor.example:8443/api/v1/files/")
    assert (answer.json()["expires_in"], answer.json()["items"][0]["type"]) == (900, "summary")


async def test_an_address_is_made_of_a_host_alone(shop: Shop) -> None:
    client, path = shop.gateway.client, f"/api/v1/runs/{RUN}/outputs"
    for host in ("evil.com:99999", "a:-1", "a:b", "[zz]:1", "u@a", "a:1:2", ""):
        answer = await client.get(path, headers={"Host": host})
        assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json"), host
        assert [issue["key"] for issue in answer.json()["issues"]] == ["Host"], (host, answer.text)
        gone = await client.get("/api/v1/runs/none", headers={"Host": host})
        assert (gone.status_code, gone.headers["content-type"]) == (404, "application/problem+json"), host
    assert (await client.get("/api/schema/x", headers={"Host": "a:b"})).status_code == 404
    for host in ("[::1]:8700", "a-b.example.org", "127.0.0.1:65535"):
        (item, *_) = (await client.get(path, headers={"Host": host})).json()["items"]
        assert item["url"].startswith(f"http://{host}/api/v1/files/")


async def test_parts_of_a_file(shop: Shop) -> None:
    path = "artifacts/0-command-plus__a__1/agent/deep/raw.bin"
    whole = await shop.get(f"/{path}")
    tag = whole.headers["etag"]
    assert tag.startswith('"')
    assert whole.headers["accept-ranges"] == "bytes"
    middle = await shop.get(f"/{path}", headers={"Range": "bytes=300000-300009"})
    assert (middle.status_code, middle.content) == (206, FILES[path][300000:300010])
    assert middle.headers["content-range"] == "bytes 300000-300009/512000"
    assert (middle.headers["etag"], middle.headers["content-length"]) == (tag, "10")
    rest = await shop.get(f"/{path}", headers={"Range": "bytes=511000-", "If-Range": tag})
    assert (rest.status_code, rest.content) == (206, FILES[path][511000:])
    beyond = await shop.get(f"/{path}", headers={"Range": "bytes=512000-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */512000")
    same = await shop.get(f"/{path}", headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert (await shop.get("/artifacts/0-command-plus__a__2/agent/output.txt")).headers["etag"] != tag


async def test_no_browser_runs_a_file(shop: Shop) -> None:
    for path, name in (("results.csv", "results.csv"), (next(iter(FILES)), "output.txt")):
        headers = (await shop.get(f"/{path}")).headers
        assert headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
        assert headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in headers["content-security-policy"]
    assert headers["content-type"] == "application/octet-stream"


async def test_what_is_no_longer_stored_is_left_out(shop: Shop) -> None:
    await shop.gateway.objects.delete(artifact_name(RUN, "0-0-2", 1, "agent"))
    await shop.gateway.objects.put(artifact_name(RUN, "0-0-1", 1, "verifier"), b"no tar")
    paths = [file["path"] for file in await shop.manifest("artifacts")]
    assert paths == list(FILES)[:4]


async def test_an_address_ends(start_gateway: Any, nats_url: str, manifest: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("PROCTOR_DOWNLOAD_SECONDS", "2")
    monkeypatch.setenv("PROCTOR_PUBLIC_URL", "https://proctor.example/bench/")
    async with start_gateway(nats_url) as gateway:
        run = Shop(gateway)
        await run.insert(
            "runs",
            status="failed",
        )
        public = (await run.get("", params={"types": "results"})).json()["items"][0]["url"]
        assert public.startswith("https://proctor.example/bench/api/v1/files/")
        path = public.removeprefix("https://proctor.example/bench")
        assert (await gateway.client.get(path)).text == RESULTS[: RESULTS.index("\r\n") + 2]
        async with asyncio.timeout(20):
            while (answer := await gateway.client.get(path)).status_code == 200:
                await asyncio.sleep(0.1)
        assert (answer.status_code, answer.json()["code"]) == (403, "DOWNLOAD_EXPIRED")


async def test_the_log_as_text(gateway: Any, projection: None, manifest: Any) -> None:
    await gateway.add_benchmark(manifest)
    body = {"experiment_config": {"benchmark": "acme/tiny"}, "agents": [{"harness": "oracle"}]}
    while (made := await gateway.client.post("/api/v1/runs", json=body)).status_code != 201:
        await asyncio.sleep(0.05)
    run = made.json()["id"]
    assert (await gateway.client.get(f"/api/v1/runs/{run}/outputs")).status_code == 409
    last = await gateway.play(run, manifest, [True, False, True])
    late: dict[str, Any] = {
        "type": "attempt.graded",
        "attempt": "0-0-1",
        "epoch": 9,
        "round": 1,
        "rewards": {},
        "score": "0",
    }
    seconds = dict.fromkeys(("startup", "transfer", "run", "parse"), 0)
    late |= {"threshold": "1", "passed": False, "mode": "shared", "seconds": seconds}
    await gateway.append(run, "grader-1", late)
    await gateway.until(f"/api/v1/runs/{run}", position=last)

    text = (await gateway.client.get(f"/api/v1/runs/{run}/outputs/logs.txt")).text
    shown = (await gateway.client.get(f"/api/v1/runs/{run}/logs?limit=200")).json()["items"]
    assert text.endswith("\n")
    assert [line.split(maxsplit=3) for line in text.splitlines()] == [
        [
            f"{datetime.fromisoformat(line['time']).astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}"[:-3] + "Z",
            line["level"],
            line["step"],
            line["message"],
        ]
        for line in shown
    ]
    assert len(shown) > 25
    results = (await gateway.client.get(f"/api/v1/runs/{run}/outputs/results.csv")).text.splitlines()
    assert [line.split(",")[11] for line in results[1:]] == ["passed", "failed", "passed"]
