"""Addresses that anybody may fetch for a while, and how files are sent."""

import asyncio
from typing import Any

import httpx

from proctor.objects import artifact_name


async def test_an_address_is_absolute_and_changed_by_nobody(shop: Any, known: Any) -> None:
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
    answer = await shop.gateway.client.get(f"/api/v1/runs/{known.run}/outputs", headers=by_name)
    assert answer.json()["items"][0]["url"].startswith("http://proctor.example:8443/api/v1/files/")
    assert (answer.json()["expires_in"], answer.json()["items"][0]["type"]) == (900, "summary")


async def test_an_address_is_made_of_a_host_alone(shop: Any, known: Any) -> None:
    client, path = shop.gateway.client, f"/api/v1/runs/{known.run}/outputs"
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


async def test_parts_of_a_file(shop: Any, known: Any) -> None:
    path = "artifacts/0-command-plus__a__1/agent/deep/raw.bin"
    whole = await shop.get(f"/{path}")
    tag = whole.headers["etag"]
    assert tag.startswith('"')
    assert whole.headers["accept-ranges"] == "bytes"
    middle = await shop.get(f"/{path}", headers={"Range": "bytes=300000-300009"})
    assert (middle.status_code, middle.content) == (206, known.files[path][300000:300010])
    assert middle.headers["content-range"] == "bytes 300000-300009/512000"
    assert (middle.headers["etag"], middle.headers["content-length"]) == (tag, "10")
    rest = await shop.get(f"/{path}", headers={"Range": "bytes=511000-", "If-Range": tag})
    assert (rest.status_code, rest.content) == (206, known.files[path][511000:])
    beyond = await shop.get(f"/{path}", headers={"Range": "bytes=512000-"})
    assert (beyond.status_code, beyond.headers["content-range"]) == (416, "bytes */512000")
    same = await shop.get(f"/{path}", headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    assert (await shop.get("/artifacts/0-command-plus__a__2/agent/output.txt")).headers["etag"] != tag


async def test_no_browser_runs_a_file(shop: Any, known: Any) -> None:
    for path, name in (("results.csv", "results.csv"), (next(iter(known.files)), "output.txt")):
        headers = (await shop.get(f"/{path}")).headers
        assert headers["content-disposition"] == f"attachment; filename*=UTF-8''{name}"
        assert headers["x-content-type-options"] == "nosniff"
        assert "sandbox" in headers["content-security-policy"]
    assert headers["content-type"] == "application/octet-stream"


async def test_what_is_no_longer_stored_is_left_out(shop: Any, known: Any) -> None:
    await shop.gateway.objects.delete(artifact_name(known.run, "0-0-2", 1, "agent"))
    await shop.gateway.objects.put(artifact_name(known.run, "0-0-1", 1, "verifier"), b"no tar")
    paths = [file["path"] for file in await shop.manifest("artifacts")]
    assert paths == list(known.files)[:4]


async def test_an_address_ends(start_gateway: Any, nats_url: str, manifest: Any, monkeypatch: Any, known: Any) -> None:
    monkeypatch.setenv("PROCTOR_DOWNLOAD_SECONDS", "2")
    monkeypatch.setenv("PROCTOR_PUBLIC_URL", "https://proctor.example/bench/")
    async with start_gateway(nats_url) as gateway:
        run = known.shop(gateway)
        await run.insert(
            "runs",
            status="failed",
        )
        public = (await run.get("", params={"types": "results"})).json()["items"][0]["url"]
        assert public.startswith("https://proctor.example/bench/api/v1/files/")
        path = public.removeprefix("https://proctor.example/bench")
        assert (await gateway.client.get(path)).text == known.results[: known.results.index("\r\n") + 2]
        async with asyncio.timeout(20):
            while (answer := await gateway.client.get(path)).status_code == 200:
                await asyncio.sleep(0.1)
        assert (answer.status_code, answer.json()["code"]) == (403, "DOWNLOAD_EXPIRED")
