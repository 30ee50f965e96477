"""What a bubblewrap sandbox sees, as arguments of `bwrap`."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from proctor.sandbox_runner.sandbox.protocol import LOG_DIRECTORIES

# From the host's /etc: what programs in /usr need to run. Neither accounts, nor keys, nor this host's services.
ETC = (
    *("alternatives", "ca-certificates", "ssl/certs", "ssl/openssl.cnf", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "nsswitch.conf", "localtime", "mime.types", "protocols", "services", "bash.bashrc"),
    *("profile", "debian_version", "magic", "perl", "python3*", "fonts", "java*", "inputrc", "terminfo"),
)
ETC_FOR_NETWORK = ("resolv.conf", "hosts")
FOLDERS = (
    "/etc",
    "/home",
    "/media",
    "/mnt",
    "/opt",
    "/root",
    "/run",
    "/srv",
    "/var",
    "/var/cache",
    "/var/lib",
    "/var/log",
)
OPEN_FOLDERS = ("/tmp", "/var/tmp")  # noqa: S108 - in the sandbox
CAPABILITIES = (
    *("CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "NET_BIND_SERVICE"),
    *("SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
ACCOUNTS = {
    "passwd": "root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "group": "root:x:0:\nnogroup:x:65534:\n",
}


@dataclass(frozen=True, slots=True)
class View:
    """`disk` bounds the writable root, in bytes. `accounts` holds the files of ACCOUNTS."""

    privileged: bool
    network: bool
    overlay: bool
    disk: int
    workdirs: tuple[str, ...]
    accounts: Path
    layer: Path | None = None


def arguments(view: View) -> list[str]:
    return [part for option in _options(view) for part in option]


def _options(view: View) -> Iterator[tuple[str, ...]]:
    yield ("--unshare-pid", "--unshare-ipc", "--unshare-uts", "--hostname", "sandbox", "--as-pid-1")
    yield ("--die-with-parent", "--new-session")
    if not view.network:
        yield ("--unshare-net",)
    if not view.privileged:
        yield ("--unshare-user", "--uid", "0", "--gid", "0")
    yield ("--size", str(view.disk), "--tmpfs", "/")
    yield from (("--dir", folder) for folder in FOLDERS)
    yield from (("--perms", "1777", "--dir", folder) for folder in OPEN_FOLDERS)
    yield from _programs(view.overlay)
    yield from _etc(view)
    # Real root may write the host's settings in /proc/sys, whatever capabilities it lost.
    yield ("--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys", "--dev", "/dev")
    yield from (("--perms", "0777", "--dir", folder) for folder in ("/logs", *LOG_DIRECTORIES))
    yield ("--perms", "1777", "--size", str(256 << 20), "--tmpfs", "/run/proctor")
    yield ("--perms", "0700", "--dir", "/run/proctor/lane.1")
    yield from (("--dir", folder) for folder in view.workdirs)
    if view.layer:
        yield ("--ro-bind", str(view.layer), "/run/proctor/layer.tar")
    yield ("--cap-drop", "ALL")
    yield from (("--cap-add", f"CAP_{name}") for name in CAPABILITIES)
    yield ("--chdir", "/")


def _programs(overlay: bool) -> Iterator[tuple[str, ...]]:
    yield ("--overlay-src", "/usr", "--tmp-overlay", "/usr") if overlay else ("--ro-bind", "/usr", "/usr")
    for name in ("bin", "sbin", "lib", "lib32", "lib64", "libx32"):
        path = Path("/") / name
        if path.is_symlink():
            yield ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            yield ("--ro-bind", str(path), str(path))


def _etc(view: View) -> Iterator[tuple[str, ...]]:
    etc = Path("/etc")
    for pattern in ETC + (ETC_FOR_NETWORK if view.network else ()):
        yield from (
            ("--ro-bind", str(path.resolve()), str(path)) for path in sorted(etc.glob(pattern)) if path.exists()
        )
    yield from (("--ro-bind", str(view.accounts / name), f"/etc/{name}") for name in ACCOUNTS)
