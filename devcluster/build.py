"""The Kubernetes and Helm binaries, built from the module in `kubernetes/` into a cache folder.

One folder per content of go.mod, go.sum and build flags; what is there already is not built again, and
two processes that want the same folder take turns.
"""

import hashlib
import os
import platform
import re
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

from devcluster.errors import DevclusterError
from devcluster.files import locked
from devcluster.shell import say, tail

MODULE = Path(__file__).parent / "kubernetes"
PROGRESS_SECONDS = 20
BUILD_SECONDS = 3600


def tools(go_mod: str) -> dict[str, str]:
    """Package path by binary name, from the `tool` block of a go.mod."""
    block = re.search(r"^tool \((.*?)^\)", go_mod, re.MULTILINE | re.DOTALL)
    packages = block.group(1).split() if block else []
    return {package.rsplit("/", 1)[1]: package for package in packages}


def kubernetes_version(go_mod: str) -> str:
    """Such as `v1.36.3`. Raises DevclusterError when the go.mod requires no k8s.io/kubernetes."""
    found = re.search(r"^\s*k8s\.io/kubernetes (v1\.\d+\.\d+)\b", go_mod, re.MULTILINE)
    if found is None:
        raise DevclusterError(f"{MODULE}/go.mod requires no k8s.io/kubernetes")
    return found.group(1)


def go_version(go_mod: str) -> str:
    """The Go release that a go.mod asks for, such as `1.26.0`."""
    found = re.search(r"^go (\S+)$", go_mod, re.MULTILINE)
    if found is None:
        raise DevclusterError(f"{MODULE}/go.mod names no Go release")
    return found.group(1)


def flags(version: str) -> list[str]:
    """Build flags: small binaries that know their version (without it clients read v0.0.0 and complain)."""
    major, minor, _ = version.removeprefix("v").split(".")
    package = "k8s.io/component-base/version"
    link = (
        f"-s -w -X {package}.gitVersion={version} -X {package}.gitMajor={major} -X {package}.gitMinor={minor}"
    )
    return ["-trimpath", "-ldflags", link]


def read_module() -> str:
    """The text of our go.mod."""
    return (MODULE / "go.mod").read_text()


def folder(cache: Path) -> Path:
    """Where the binaries of this go.mod, go.sum and these flags belong."""
    go_mod = read_module()
    parts = [go_mod, (MODULE / "go.sum").read_text(), *flags(kubernetes_version(go_mod)), platform.machine()]
    return cache / "k8s" / hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16] / "bin"


def is_built(cache: Path) -> bool:
    """Whether every binary is in the cache."""
    return not _missing(folder(cache))


def _missing(target: Path) -> list[str]:
    return [name for name in tools(read_module()) if not (target / name).exists()]


def build(cache: Path) -> Path:
    """The folder with all binaries, built first where needed (minutes); says what it does.

    Raises DevclusterError with the end of Go's output when a build fails.
    """
    target = folder(cache)
    if not _missing(target):
        return target
    with locked(target.parent / "lock", "the Kubernetes build"):
        target.mkdir(exist_ok=True)
        names, began = _missing(target), time.monotonic()
        if names:
            say(f"building {', '.join(names)} once, into {target}; about 9 minutes on 2 cores")
            _go(["mod", "download"], "downloading modules")
        for number, name in enumerate(names, start=1):
            _build_one(target, name, f"[{number}/{len(names)}] {name}")
        say(f"built in {time.monotonic() - began:.0f} s")
    return target


def _build_one(target: Path, name: str, title: str) -> None:
    go_mod = read_module()
    draft = target / f".{name}.partial"
    _go(["build", "-v", *flags(kubernetes_version(go_mod)), "-o", str(draft), tools(go_mod)[name]], title)
    draft.replace(target / name)


def _go(words: list[str], title: str) -> None:
    began = time.monotonic()
    env = os.environ | {"CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false", "GOWORK": "off"}
    child = subprocess.Popen(
        ["go", *words],
        cwd=MODULE,
        env=env,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    lines: list[str] = []
    reader = Thread(target=_collect, args=(child, lines.append), daemon=True)
    reader.start()
    try:
        _wait(child, lambda: say(f"  {title}: {len(lines)} packages, {time.monotonic() - began:.0f} s"))
    finally:
        child.kill()
        child.wait()
        reader.join()
    if child.returncode != 0:
        raise DevclusterError(f"`go {words[0]}` failed for {title}:\n" + tail("".join(lines)))
    say(f"  {title}: done in {time.monotonic() - began:.0f} s")


def _collect(child: subprocess.Popen[str], keep: Callable[[str], None]) -> None:
    assert child.stderr is not None
    with child.stderr as stream:
        for line in stream:
            keep(line)


def _wait(child: subprocess.Popen[str], report: Callable[[], None]) -> None:
    deadline = time.monotonic() + BUILD_SECONDS
    while time.monotonic() < deadline:
        try:
            child.wait(timeout=PROGRESS_SECONDS)
        except subprocess.TimeoutExpired:
            report()
        else:
            return
    raise DevclusterError(f"the build took longer than {BUILD_SECONDS} s")
