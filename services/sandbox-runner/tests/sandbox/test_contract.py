"""What every back end keeps to."""

import asyncio
import shlex
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from proctor.sandbox_runner.sandbox.errors import ErrorKind, SandboxError
from proctor.sandbox_runner.sandbox.protocol import LOG_DIRECTORIES, Backend, Sandbox, SandboxSpec

type SpecMaker = Callable[..., SandboxSpec]
type Living = Callable[[Sandbox, str], Awaitable[int]]

ESCAPES = """
setsid sleep 4321 &
nohup sleep 4321 >/dev/null 2>&1 &
(sleep 4321 &)
env -i /bin/sleep 4321 &
bash -c 'trap "" TERM INT HUP; sleep 4321; sleep 4321' &
(setsid bash -c '(sleep 4321 &); exit 0' &)
"""


async def test_streams_code_and_surroundings(sandbox: Sandbox) -> None:
    result = await sandbox.exec("echo out; echo err >&2; pwd; exit 7", timeout=20)
    assert (result.returncode, result.stdout, result.stderr) == (7, b"out\n/app\n", b"err\n")
    assert not result.timed_out
    assert not result.truncated


@pytest.mark.parametrize(
    ("command", "returncode"),
    [("true", 0), ("false", 1), ("exit 255", 255), ("no-such-program", 127), ("kill -9 $$", 137), ("kill 0", 143)],
)
async def test_return_codes(sandbox: Sandbox, command: str, returncode: int) -> None:
    assert (await sandbox.exec(command, timeout=20)).returncode == returncode
    assert (await sandbox.exec("echo next", timeout=20)).stdout == b"next\n"


async def test_output_is_byte_exact(sandbox: Sandbox) -> None:
    every_byte = bytes(range(256))
    printf = "printf '" + "".join(f"\\{byte:03o}" for byte in every_byte) + "'"
    result = await sandbox.exec(f"{printf}; {printf} >&2", timeout=20)
    assert result.stdout == every_byte
    assert result.stderr == every_byte


async def test_endless_output_is_cut_and_harms_nothing(sandbox: Sandbox) -> None:
    loud, quiet = await asyncio.gather(
        sandbox.exec("head -c 100000000 /dev/zero; head -c 100000000 /dev/zero >&2; echo done >/tmp/done", timeout=60),
        sandbox.exec("echo quiet", timeout=60),
    )
    assert loud.returncode == 0
    assert loud.truncated
    assert (len(loud.stdout), len(loud.stderr)) == (4 << 20, 4 << 20)
    assert quiet.stdout == b"quiet\n"
    assert (await sandbox.exec("cat /tmp/done", timeout=20)).stdout == b"done\n"


@pytest.mark.parametrize(("size", "limit", "truncated"), [(99, 100, False), (100, 100, False), (101, 100, True)])
async def test_output_limit_is_exact(sandbox: Sandbox, size: int, limit: int, truncated: bool) -> None:
    result = await sandbox.exec(f"head -c {size} /dev/zero", timeout=20, max_output=limit)
    assert (len(result.stdout), result.truncated) == (min(size, limit), truncated)


async def test_stdin_is_closed_and_nothing_else_is_open(sandbox: Sandbox) -> None:
    result = await sandbox.exec("cat; ls /proc/$$/fd; trap -p", timeout=20)
    assert result.stdout.split() == [b"0", b"1", b"2"]


async def test_signals_are_at_their_defaults(sandbox: Sandbox) -> None:
    result = await sandbox.exec("grep SigIgn /proc/self/status", timeout=20)
    assert int(result.stdout.split()[1], 16) == 0


async def test_environment_and_place_of_one_command(backend: Backend, make_spec: SpecMaker) -> None:
    tricky = "two words 'single' \"double\" $(touch /tmp/oops) `x` \\ ünïcödé \n second line"
    sandbox = await backend.start(make_spec(env={"ALWAYS": tricky, "BOTH": "spec"}))
    show = 'printf "%s|%s|%s|%s|%s" "$ALWAYS" "$ONCE" "$BOTH" "$FROM_IMAGE" "$PWD"; test ! -e /tmp/oops'
    result = await sandbox.exec(show, env={"ONCE": tricky, "BOTH": "exec"}, cwd="/tmp", timeout=20)
    assert result.returncode == 0
    assert result.stdout.decode() == f"{tricky}|{tricky}|exec|yes|/tmp"
    again = await sandbox.exec('printf "%s|%s" "$ONCE" "$BOTH"', timeout=20)
    assert again.stdout == b"|spec"
    await sandbox.stop()


async def test_missing_place_is_said(sandbox: Sandbox) -> None:
    result = await sandbox.exec("pwd", cwd="/not/there", timeout=20)
    assert result.returncode == 126
    assert b"/not/there" in result.stderr


@pytest.mark.parametrize("env", [{"not a name": "x"}, {"1ST": "x"}, {"A": "nul\0byte"}])
async def test_impossible_environment_is_refused(sandbox: Sandbox, env: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=next(iter(env)).split()[0]):
        await sandbox.exec("true", env=env, timeout=20)


async def test_very_long_commands_and_environments(sandbox: Sandbox) -> None:
    word = "x" * 300_000
    long_command = await sandbox.exec(f"printf %s {word} | wc -c; echo $0 $#", timeout=30)
    assert long_command.stdout.split()[0] == b"300000"
    long_env = await sandbox.exec('printf %s "$A$B" | wc -c', env={"A": "a" * 90_000, "B": "b" * 90_000}, timeout=30)
    assert long_env.stdout == b"180000\n"


async def test_twenty_commands_at_once(sandbox: Sandbox) -> None:
    started = time.monotonic()
    results = await asyncio.gather(
        *(sandbox.exec(f"sleep 0.5; echo {number}; exit {number}", timeout=30) for number in range(20))
    )
    assert [(result.stdout, result.returncode) for result in results] == [(b"%d\n" % n, n) for n in range(20)]
    assert time.monotonic() - started < 6


async def test_log_directories_are_open_to_all(sandbox: Sandbox) -> None:
    result = await sandbox.exec(f"stat -c %a {' '.join(LOG_DIRECTORIES)}; touch /x /usr/x /opt/x; id -u", timeout=20)
    assert (result.returncode, result.stdout.split()) == (0, [b"777", b"777", b"777", b"0"])


async def test_user_of_a_command(sandbox: Sandbox) -> None:
    result = await sandbox.exec("id -un; touch /logs/agent/x && echo wrote", user="nobody", timeout=20)
    assert result.stdout == b"nobody\nwrote\n", result.stderr


async def test_timeout_kills_all_that_the_command_started(sandbox: Sandbox, living: Living) -> None:
    result = await sandbox.exec(f"echo before; {ESCAPES} sleep 4321", timeout=1)
    assert (result.returncode, result.timed_out, result.stdout) == (None, True, b"before\n")
    assert await living(sandbox, "sleep 4321") == 0


async def test_cancelling_kills_all_that_the_command_started(sandbox: Sandbox, living: Living) -> None:
    call = asyncio.create_task(sandbox.exec(f"{ESCAPES} sleep 4321", timeout=None))
    async with asyncio.timeout(20):
        while await living(sandbox, "sleep 4321") < 6:
            await asyncio.sleep(0.05)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert await living(sandbox, "sleep 4321") == 0


async def test_a_timeout_spares_other_commands_and_their_services(sandbox: Sandbox, living: Living) -> None:
    await sandbox.exec("setsid sleep 5678 >/dev/null 2>&1 &", timeout=20)
    other = asyncio.create_task(sandbox.exec("sleep 1.5; echo finished", timeout=20))
    assert (await sandbox.exec(ESCAPES + "sleep 4321", timeout=0.5)).timed_out
    assert (await other).stdout == b"finished\n"
    assert await living(sandbox, "sleep 5678") == 1


async def test_services_survive_a_normal_end_but_not_a_quiesce(sandbox: Sandbox, living: Living) -> None:
    await sandbox.exec("sleep 1111 >/dev/null 2>&1 &", timeout=20)
    baseline = await sandbox.snapshot()
    result = await sandbox.exec(f"{ESCAPES} echo started", timeout=20)
    assert (result.returncode, result.stdout) == (0, b"started\n")
    assert await living(sandbox, "sleep 4321") >= 6
    assert await sandbox.quiesce(baseline) >= 6
    assert await living(sandbox, "sleep 4321") == 0
    assert await living(sandbox, "sleep 1111") == 1
    assert await sandbox.quiesce(baseline) == 0


async def test_a_service_that_keeps_the_output_open_does_not_hold_up_the_command(sandbox: Sandbox) -> None:
    result = await sandbox.exec("echo first; sleep 999 & exit 4", timeout=20)
    assert (result.returncode, result.stdout) == (4, b"first\n")
    assert result.seconds < 5


async def test_fork_bomb_is_stopped(backend: Backend, make_spec: SpecMaker) -> None:
    sandbox = await backend.start(make_spec(pids=128))
    result = await sandbox.exec("bomb() { bomb | bomb & }; bomb; sleep 60", timeout=2)
    assert result.timed_out
    assert (await sandbox.exec("echo alive", timeout=20)).stdout == b"alive\n"
    await sandbox.stop()


async def test_fork_bomb_left_behind_is_quiesced(backend: Backend, make_spec: SpecMaker) -> None:
    sandbox = await backend.start(make_spec(pids=128))
    baseline = await sandbox.snapshot()
    await sandbox.exec("bomb() { bomb | bomb & }; bomb & disown; sleep 0.5", timeout=3)
    assert await sandbox.quiesce(baseline) > 0
    assert (await sandbox.exec("echo alive", timeout=20)).stdout == b"alive\n"
    await sandbox.stop()


async def test_kill_of_everything(sandbox: Sandbox) -> None:
    result = await sandbox.exec("kill -9 -1; echo survived", timeout=20)
    assert result.returncode == 137
    after = await sandbox.exec("echo alive", timeout=20)
    assert after.stdout == b"alive\n"
    assert (await sandbox.facts())["alive"] is True


async def test_memory_eater_hurts_only_itself(backend: Backend, make_spec: SpecMaker) -> None:
    sandbox = await backend.start(make_spec(memory_mb=96, disk_mb=16))
    result = await sandbox.exec("head -c 1000000000 /dev/zero | tail", timeout=60, max_output=1000)
    assert result.returncode != 0
    assert (await sandbox.exec("echo alive", timeout=20)).stdout == b"alive\n"
    assert (await sandbox.facts())["oom_killed"] is True
    await sandbox.stop()


async def test_disk_filler_hurts_only_itself(sandbox: Sandbox) -> None:
    result = await sandbox.exec("dd if=/dev/zero of=/app/big bs=1M count=500", timeout=60)
    assert result.returncode != 0
    assert (await sandbox.exec("stat -c %s /app/big", timeout=20)).stdout.strip().isdigit()
    size = int((await sandbox.exec("stat -c %s /app/big", timeout=20)).stdout)
    assert size <= 64 << 20
    assert (await sandbox.exec("rm /app/big; echo alive", timeout=20)).stdout == b"alive\n"


async def test_no_network(sandbox: Sandbox) -> None:
    result = await sandbox.exec(
        "tail -n +3 /proc/net/dev | cut -d: -f1; (exec 3<>/dev/tcp/192.0.2.1/80) 2>&1 || echo refused", timeout=20
    )
    assert result.stdout.split()[0] == b"lo"
    assert b"refused" in result.stdout
    assert b"eth0" not in result.stdout


async def test_public_network(backend: Backend, make_spec: SpecMaker) -> None:
    sandbox = await backend.start(make_spec(network="public"))
    result = await sandbox.exec("tail -n +3 /proc/net/dev | grep -cv '^ *lo:'; test -s /etc/resolv.conf", timeout=20)
    assert result.returncode == 0
    assert int(result.stdout) >= 1
    await sandbox.stop()


async def test_values_are_in_no_argument_of_the_host(backend: Backend, make_spec: SpecMaker) -> None:
    secret = "v3ry-s3cret-value"
    sandbox = await backend.start(make_spec(env={"ALWAYS": secret}))
    running = asyncio.create_task(
        sandbox.exec("echo $ALWAYS$ONCE; touch /tmp/up; sleep 1; true", env={"ONCE": secret}, timeout=20)
    )
    while (await sandbox.exec("test -e /tmp/up", timeout=20)).returncode:
        await asyncio.sleep(0.02)
    seen = b"".join(_arguments())
    assert b"touch /tmp/up" in seen
    assert secret.encode() not in seen
    assert (await running).stdout.decode() == f"{secret}{secret}\n"
    await sandbox.stop()


async def test_stop_is_final_and_idempotent(sandbox: Sandbox) -> None:
    await sandbox.stop()
    await sandbox.stop()
    with pytest.raises(SandboxError) as caught:
        await sandbox.exec("true", timeout=20)
    assert caught.value.kind is ErrorKind.SANDBOX_GONE


async def test_stop_ends_a_running_command(sandbox: Sandbox) -> None:
    running = asyncio.create_task(sandbox.exec("sleep 60", timeout=None))
    await asyncio.sleep(0.3)
    await sandbox.stop()
    with pytest.raises(SandboxError) as caught:
        await running
    assert caught.value.kind is ErrorKind.SANDBOX_GONE


async def test_remove_by_label_and_sweep(backend: Backend, make_spec: SpecMaker) -> None:
    kept, labelled, other = [
        await backend.start(make_spec(labels={"proctor.run": run})) for run in ("one", "two", "one")
    ]
    assert await backend.remove({"proctor.run": "two"}) == [labelled.id]
    assert await backend.sweep({kept.id}) == [other.id]
    assert (await kept.exec("echo alive", timeout=20)).stdout == b"alive\n"
    assert await backend.sweep(()) == [kept.id]


async def test_copied_files_are_in_place(
    backend: Backend, make_spec: SpecMaker, environment: Path, own_digest: str
) -> None:
    (environment / "data").mkdir()
    (environment / "data" / "a.txt").write_text("alpha")
    (environment / "run.sh").write_text("#!/bin/bash\necho ran\n")
    (environment / "run.sh").chmod(0o755)
    (environment / "Dockerfile").write_text("FROM debian:bookworm-slim\nWORKDIR /work\nCOPY data ./in\nCOPY run.sh /\n")
    sandbox = await backend.start(make_spec(environment_digest=own_digest))
    result = await sandbox.exec("pwd; cat in/a.txt; echo more >>in/a.txt; /run.sh; stat -c %u /run.sh", timeout=20)
    assert result.stdout == b"/work\nalpharan\n0\n", result.stderr
    assert sandbox.workdir == "/work"
    await sandbox.stop()


def _arguments() -> Iterator[bytes]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield path.read_bytes().replace(b"\0", b" ")
        except OSError:
            continue


async def test_command_text_needs_no_care(sandbox: Sandbox) -> None:
    text = 'it\'s "quoted" $HOME `date` \\ * é'
    assert (await sandbox.exec(f"printf %s {shlex.quote(text)}", timeout=20)).stdout.decode() == text


async def test_many_commands_and_transfers_leave_little_behind(sandbox: Sandbox) -> None:
    for _ in range(3):
        await sandbox.put(bytes(4 << 20), "/tmp/zeros")  # a tar of nothing
        await sandbox.exec("head -c 4000000 /dev/zero", timeout=20)
    await asyncio.gather(*(sandbox.exec("echo x", timeout=60) for _ in range(110)))
    result = await sandbox.exec("du -s /run/proctor/lane.* | cut -f1; ls /run/proctor/lane.* | wc -l", timeout=20)
    kibibytes, files = map(int, result.stdout.split())
    assert kibibytes < 4096
    assert files < 400


@pytest.mark.parametrize("limit", [-1, 17 << 20])
async def test_an_impossible_output_limit_is_refused(sandbox: Sandbox, limit: int) -> None:
    with pytest.raises(ValueError, match="max_output"):
        await sandbox.exec("true", timeout=20, max_output=limit)


async def test_what_it_used_is_what_its_processes_had(backend: Backend, make_spec: SpecMaker, measured: bool) -> None:
    sandbox = await backend.start(make_spec())
    before = await sandbox.usage()
    work = "for ((i = 0; i < 400000; i++)); do :; done; head -c 60000000 /dev/zero | tail -c 60000000 >/dev/null; times"
    said = (await sandbox.exec(work, timeout=60)).stdout.decode().replace("m", " ").replace("s", " ").split()
    minutes, seconds = map(float, said[::2]), map(float, said[1::2])
    cpu = sum(minutes) * 60 + sum(seconds)
    after = await sandbox.usage()
    await sandbox.stop()
    assert await sandbox.usage() == (None, None)
    if backend.name == "bubblewrap" and not measured:
        assert after == (None, None)
        return
    assert before.cpu_seconds is not None
    assert after.cpu_seconds is not None
    assert after.memory_peak_bytes is not None
    assert cpu * 0.9 <= after.cpu_seconds - before.cpu_seconds <= cpu + 0.5
    assert 60_000_000 <= after.memory_peak_bytes <= 256 << 20
