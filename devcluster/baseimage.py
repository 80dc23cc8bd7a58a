"""Images made of Debian packages alone: the base of the product's Dockerfile, and the pods' sandbox.

Both are kept as archives in the cache, named by what they are made of.
"""

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devcluster.buildah import SLOW_SECONDS, Buildah
from devcluster.errors import DevclusterError
from devcluster.files import read_json, write_json
from devcluster.node import PAUSE_IMAGE
from devcluster.shell import capture, say, succeeds

BASE_IMAGE = "docker.io/library/python:3.11-slim-bookworm"
SUITE = "bookworm"
PACKAGES = ("python3", "python3-venv", "python3-pip", "python-is-python3", "ca-certificates")
BUSYBOX = Path("/bin/busybox")
SEARCH_PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# As in the image whose place this takes: pip installs outside a venv too, and no downloads are kept.
UNWANTED = ("usr/lib/python3*/EXTERNALLY-MANAGED", "var/cache/apt/archives/*.deb", "var/lib/apt/lists/*_*")


def ensure_base(cache: Path, name: str) -> None:
    """Give buildah an image `name` with Debian's Python, reachable as `python` and `python3`."""
    buildah = Buildah(cache)
    archive = cache / "images" / f"base-{base_key(SUITE, PACKAGES)}.docker.tar"
    if not archive.exists():
        say(f"making the base image from Debian packages ({SUITE}: {' '.join(PACKAGES)}); about a minute")
        _make_base(cache, buildah, archive)
    note = cache / "images" / "bases.json"
    known = read_json(note, {})
    if known.get(name) != archive.name or not _has(buildah, name):
        image = buildah.run("pull", "--quiet", f"docker-archive:{archive}").split()[-1]
        buildah.run("tag", image, name)
        write_json(note, known | {name: archive.name})


def base_key(suite: str, packages: Sequence[str]) -> str:
    """Names the base image by what it is made of; the order of packages does not matter."""
    return hashlib.sha256(" ".join([suite, *sorted(packages)]).encode()).hexdigest()[:16]


def pause_archive(cache: Path) -> Path:
    """Where the archive of `PAUSE_IMAGE` belongs; it may not exist yet."""
    digest = hashlib.sha256(BUSYBOX.read_bytes()).hexdigest()
    return cache / "images" / f"pause-{digest[:16]}.docker.tar"


def make_pause(cache: Path, archive: Path) -> None:
    """Write the image that holds a pod's namespaces: busybox, asleep."""
    buildah = Buildah(cache)
    sleep = ["--entrypoint", f'["{BUSYBOX}","sleep","2147483647"]']
    buildah.commit(PAUSE_IMAGE, BUSYBOX.resolve(), str(BUSYBOX), sleep)
    buildah.push(PAUSE_IMAGE, archive)


def _has(buildah: Buildah, name: str) -> bool:
    try:
        buildah.run("inspect", "--type=image", name)
    except DevclusterError:
        return False
    return True


def _make_base(cache: Path, buildah: Buildah, archive: Path) -> None:
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="debootstrap-") as scratch:
        root = Path(scratch, "root")
        packages = f"--include={','.join(PACKAGES)}"
        capture(["debootstrap", "--variant=minbase", packages, SUITE, str(root)], seconds=SLOW_SECONDS)
        for pattern in UNWANTED:
            for file in root.glob(pattern):
                file.unlink()
        if not succeeds(["chroot", str(root), "python", "-c", "import pip, venv"]):
            raise DevclusterError(f"Debian {SUITE} brought no usable Python")
        name = f"localhost/devcluster-{base_key(SUITE, PACKAGES)}"
        buildah.commit(name, root, "/", ["--cmd", "python3", "--env", "LANG=C.UTF-8", "--env", SEARCH_PATH])
        buildah.push(name, archive)
