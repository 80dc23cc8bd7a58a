"""Images without a registry: a base image made from Debian packages, any Dockerfile on it, and the import.

The base is tagged with the very name that the Dockerfile's `FROM` uses, so that the same Dockerfile builds
here from packages and elsewhere from the registry. buildah keeps its layers in the cache folder.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devcluster.errors import DevclusterError
from devcluster.files import locked, read_json, write_json, write_text
from devcluster.node import PAUSE_IMAGE, containerd_socket
from devcluster.prerequisites import tools_for_images
from devcluster.settings import Settings
from devcluster.shell import capture, say, succeeds

BASE_IMAGE = "docker.io/library/python:3.11-slim-bookworm"
SUITE = "bookworm"
PACKAGES = ("python3", "python3-venv", "python3-pip", "python-is-python3", "ca-certificates")
CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# Name in pip's configuration of each environment variable that a build behind a mirror or proxy needs.
PIP_SETTINGS = {
    "PIP_INDEX_URL": "index-url",
    "PIP_EXTRA_INDEX_URL": "extra-index-url",
    "PIP_TRUSTED_HOST": "trusted-host",
    "PIP_DEFAULT_TIMEOUT": "timeout",
}
SLOW = 3600.0


@dataclass(frozen=True)
class Build:
    """One image to build; `context` is the folder that the Dockerfile copies from."""

    tag: str
    file: Path
    context: Path
    target: str | None = None
    arguments: tuple[str, ...] = ()
    base: str = BASE_IMAGE


def build_and_import(settings: Settings, build: Build) -> str:
    """Build, and import into the running cluster unless it has this very image; returns the image id."""
    tools_for_images()
    with locked(settings.cache / "locks" / "images", "an image"):
        if f"FROM {build.base}" in build.file.read_text() or "$" in build.file.read_text():
            ensure_base(settings.cache, build.base)
        image = _bud(settings.cache, build)
        if _imported(settings).get(build.tag) == image:
            say(f"{build.tag} is unchanged ({image[:12]})")
            return image
        archive = settings.state / "image.tar"
        _push(settings.cache, build.tag, archive)
        import_archive(settings, archive, build.tag, image)
        archive.unlink()
    return image


def import_pause(settings: Settings) -> None:
    """The image of every pod's sandbox: busybox, asleep."""
    busybox = Path("/bin/busybox").resolve()
    archive = settings.cache / "images" / f"pause-{hashlib.sha256(busybox.read_bytes()).hexdigest()[:16]}.tar"
    if not archive.exists():
        with locked(settings.cache / "locks" / "images", "an image"):
            _make_pause(settings.cache, busybox, archive)
    import_archive(settings, archive, PAUSE_IMAGE, archive.stem)


def import_archive(settings: Settings, archive: Path, tag: str, image: str) -> None:
    """Hand an archive to containerd and remember which image a tag stands for."""
    capture(
        [
            "ctr",
            f"--address={containerd_socket(settings)}",
            "--namespace=k8s.io",
            "images",
            "import",
            str(archive),
        ],
        seconds=SLOW,
    )
    write_json(settings.state / "images.json", _imported(settings) | {tag: image})
    say(f"imported {tag} ({image[:12]})")


def ensure_base(cache: Path, name: str) -> None:
    """Make the base image where buildah has none: Debian's Python, reachable as `python` and `python3`."""
    archive = cache / "images" / f"base-{base_key(SUITE, PACKAGES)}.tar"
    if not archive.exists():
        say(f"making the base image from Debian packages ({SUITE}: {' '.join(PACKAGES)}); about a minute")
        _make_base(cache, archive)
    stored = read_json(cache / "images" / "bases.json", {})
    if stored.get(name) != archive.name or not succeeds([*_buildah(cache), "inspect", "--type=image", name]):
        image = capture(
            [*_buildah(cache), "pull", "--quiet", f"oci-archive:{archive}"], seconds=SLOW
        ).split()[-1]
        capture([*_buildah(cache), "tag", image, name])
        write_json(cache / "images" / "bases.json", stored | {name: archive.name})


def base_key(suite: str, packages: Sequence[str]) -> str:
    """Names the base image by what it is made of."""
    return hashlib.sha256(" ".join([suite, *sorted(packages)]).encode()).hexdigest()[:16]


def pip_configuration(environ: Mapping[str, str], configured: Mapping[str, str], bundle: Path | None) -> str:
    """A pip.conf for the build from this machine's settings; empty where pip's defaults do."""
    found = {name: configured[name] for name in PIP_SETTINGS.values() if name in configured}
    found |= {name: environ[variable] for variable, name in PIP_SETTINGS.items() if environ.get(variable)}
    if bundle is not None:
        found["cert"] = CA_BUNDLE
    return "".join(f"{line}\n" for line in ["[global]", *(f"{k} = {v}" for k, v in found.items())] if found)


def ca_bundle(environ: Mapping[str, str], configured: Mapping[str, str]) -> Path | None:
    """The authorities this machine was told to trust beyond the usual ones, if any."""
    for candidate in (environ.get("PIP_CERT"), environ.get("SSL_CERT_FILE"), configured.get("cert")):
        if candidate and Path(candidate).is_file():
            return Path(candidate).resolve()
    return None


def _pip_configured() -> dict[str, str]:
    """What pip's own files say under [global], without the prefix."""
    if not succeeds(["python3", "-m", "pip", "--version"]):
        return {}
    pairs = (line.partition("=") for line in capture(["python3", "-m", "pip", "config", "list"]).splitlines())
    return {
        key.removeprefix("global."): value.strip("'") for key, _, value in pairs if key.startswith("global.")
    }


def _bud(cache: Path, build: Build) -> str:
    say(f"building {build.tag} from {build.file}")
    with _build_mounts() as mounts, tempfile.TemporaryDirectory() as scratch:
        id_file = Path(scratch, "id")
        argv = [
            *_buildah(cache),
            "bud",
            "--isolation=chroot",
            "--layers",
            "--pull-never",
            f"--iidfile={id_file}",
            f"--tag={build.tag}",
            f"--file={build.file}",
            *mounts,
            *(f"--build-arg={argument}" for argument in build.arguments),
            *([f"--target={build.target}"] if build.target else []),
            str(build.context),
        ]
        capture(argv, seconds=SLOW)
        return id_file.read_text().strip().removeprefix("sha256:")


@contextmanager
def _build_mounts() -> Iterator[list[str]]:
    """Volumes for the build alone, so that nothing of this machine's settings ends up in an image."""
    configured = _pip_configured()
    bundle = ca_bundle(os.environ, configured)
    with tempfile.TemporaryDirectory() as scratch:
        mounts = [] if bundle is None else [f"--volume={bundle}:{CA_BUNDLE}:ro"]
        text = pip_configuration(os.environ, configured, bundle)
        if text:
            mounts.append(
                f"--volume={write_text(Path(scratch, 'pip.conf'), text, mode=0o644)}:/etc/pip.conf:ro"
            )
        yield mounts


def _buildah(cache: Path) -> list[str]:
    storage = cache / "buildah"
    return ["buildah", f"--root={storage}/root", f"--runroot={storage}/run"]


def _push(cache: Path, image: str, archive: Path) -> None:
    archive.unlink(missing_ok=True)
    push = [*_buildah(cache), "push", "--quiet", "--disable-compression"]
    capture([*push, image, f"oci-archive:{archive}:{image}"], seconds=SLOW)


def _commit(cache: Path, image: str, archive: Path, steps: Sequence[Sequence[str]]) -> None:
    """From scratch: apply buildah steps (CONTAINER stands for the container), commit, write the archive."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    container = capture([*_buildah(cache), "from", "scratch"]).strip()
    try:
        for step in steps:
            capture(
                [*_buildah(cache), *(container if word == "CONTAINER" else word for word in step)],
                seconds=SLOW,
            )
        capture([*_buildah(cache), "commit", "--quiet", container, image], seconds=SLOW)
    finally:
        capture([*_buildah(cache), "rm", container])
    draft = archive.with_suffix(".partial")
    _push(cache, image, draft)
    draft.replace(archive)


def _make_pause(cache: Path, busybox: Path, archive: Path) -> None:
    _commit(
        cache,
        PAUSE_IMAGE,
        archive,
        [
            ["add", "CONTAINER", str(busybox), "/bin/busybox"],
            ["config", "--entrypoint", '["/bin/busybox","sleep","2147483647"]', "CONTAINER"],
        ],
    )


def _make_base(cache: Path, archive: Path) -> None:
    with tempfile.TemporaryDirectory(dir=_made(cache / "images")) as scratch:
        root = Path(scratch, "root")
        capture(
            ["debootstrap", "--variant=minbase", f"--include={','.join(PACKAGES)}", SUITE, str(root)],
            seconds=SLOW,
        )
        if not (root / "usr/bin/python3.11").exists():
            raise DevclusterError(f"Debian {SUITE} brought no Python 3.11")
        # As in the image whose place this takes: pip installs outside a venv, and no package lists are kept.
        for unwanted in [
            *root.glob("usr/lib/python3*/EXTERNALLY-MANAGED"),
            *root.glob("var/cache/apt/archives/*.deb"),
            *(path for path in root.glob("var/lib/apt/lists/*") if path.is_file()),
        ]:
            unwanted.unlink()
        _commit(
            cache,
            f"localhost/{archive.stem}",
            archive,
            [
                ["add", "CONTAINER", str(root), "/"],
                [
                    "config",
                    "--cmd",
                    "python3",
                    "--env",
                    "LANG=C.UTF-8",
                    "--env",
                    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                    "CONTAINER",
                ],
            ],
        )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _imported(settings: Settings) -> dict[str, str]:
    stored: dict[str, str] = read_json(settings.state / "images.json", {})
    return stored
