"""Downloads of a run, byte by byte."""

import asyncio
from datetime import UTC, datetime
from typing import Any

from proctor.objects import artifact_name


async def test_every_byte_of_a_run(shop: Any, known: Any) -> None:
    expected = {
        "summary.csv": known.summary.format(lock=shop.lock).encode(),
        "results.csv": known.results.encode(),
        **known.files,
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


async def test_a_snapshot_stays_while_the_run_goes_on(shop: Any, known: Any) -> None:
    before = await shop.manifest("summary,results,artifacts")
    listed = (await shop.get("")).json()
    replaced = artifact_name(known.run, "0-0-1", 2, "agent")
    await shop.gateway.objects.put(replaced, known.tar({"output.txt": b"another try"}))
    await shop.gateway.database.execute("UPDATE leaderboard.results SET valid_to = 31 WHERE valid_from = 25")
    await shop.result(1, 31, status="agent_running", epoch=2, counts=False, agent_artifacts=[replaced])
    await shop.gateway.database.execute("UPDATE leaderboard.agents SET passed = 0, cost_usd = 1000.5 WHERE agent = 0")
    await shop.move(31)

    again = await shop.download(before)
    assert again["summary.csv"] == known.summary.format(lock=shop.lock).encode()
    assert again["results.csv"] == known.results.encode()
    assert again["artifacts/0-command-plus__a__1/agent/output.txt"] == b"hello\n"
    old = await shop.get("/results.csv", params={"snapshot": listed["snapshot"]})
    assert old.content == known.results.encode()

    after = await shop.download(await shop.manifest("summary,results,artifacts"))
    assert b",running,2,0,1,0,0,0," in after["summary.csv"]
    assert b",1,agent_running,,,,," in after["results.csv"]
    assert after["artifacts/0-command-plus__a__1/agent/output.txt"] == b"another try"
    assert "artifacts/0-command-plus__a__1/verifier/reward.txt" not in after
    assert (await shop.get("/results.csv")).content == after["results.csv"]


async def test_a_run_without_results_has_both_tables_and_one_that_waits_has_none(shop: Any, known: Any) -> None:
    await shop.gateway.database.execute("DELETE FROM leaderboard.results")
    empty = await shop.download(await shop.manifest("summary,results"))
    assert empty["results.csv"] == known.results[: known.results.index("\r\n") + 2].encode()
    for status in ("pending", "queued"):
        await shop.gateway.database.execute("UPDATE leaderboard.runs SET status = $1", status)
        for answer in (
            await shop.gateway.client.get(f"/api/cli/benchmark-runs/{known.run}/outputs/manifest", headers=shop.wire),
            await shop.get(""),
            await shop.get("/results.csv"),
        ):
            assert answer.status_code == 409
            assert status in answer.json()["error"]


async def test_what_isnt_in_the_snapshot(shop: Any, known: Any) -> None:
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
        f"/api/cli/benchmark-runs/{known.run}/outputs/manifest?types=summary,pictures", headers=shop.wire
    )
    assert unknown.status_code == 400
    assert "pictures" in unknown.text


async def test_another_workspace_sees_nothing(shop: Any, known: Any) -> None:
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
    manifest = f"/api/cli/benchmark-runs/{known.run}/outputs/manifest"
    assert (await shop.gateway.client.get(manifest, headers=shop.wire)).status_code == 404


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
