"""Images without a registry: any Dockerfile built on a base of Debian packages, and handed to containerd.

The base is tagged with the very name that the Dockerfile's `FROM` uses, so that the same Dockerfile builds
here from packages and elsewhere from the registry.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from devcluster.baseimage import BASE_IMAGE, ensure_base, make_pause, pause_archive
from devcluster.buildah import SLOW_SECONDS, Buildah
from devcluster.errors import DevclusterError
from devcluster.files import locked, read_json, write_json, write_text
from devcluster.node import PAUSE_IMAGE, containerd_socket
from devcluster.prerequisites import tools_for_images
from devcluster.settings import Settings
from devcluster.shell import capture, say, succeeds

CA_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# pip's own name of each setting that a build behind a mirror needs, by environment variable.
PIP_SETTINGS = {
    "PIP_INDEX_URL": "index-url",
    "PIP_EXTRA_INDEX_URL": "extra-index-url",
    "PIP_TRUSTED_HOST": "trusted-host",
    "PIP_DEFAULT_TIMEOUT": "timeout",
}


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
    """Build, and import into the running cluster unless it has this very image; returns the image id.

    Raises DevclusterError when the Dockerfile does not build, or the cluster has no node to import into.
    """
    if settings.control_plane_only:
        raise DevclusterError("this cluster has no node that could run an image")
    if not build.file.is_file():
        raise DevclusterError(f"no such Dockerfile: {build.file}")
    tools_for_images()
    with _images_locked(settings):
        if uses(build.base, build):
            ensure_base(settings.cache, build.base)
        image = _bud(settings.cache, build)
        if _imported(settings).get(build.tag) == image:
            say(f"{build.tag} is unchanged ({image[:12]})")
            return image
        archive = settings.state / "image.tar"
        Buildah(settings.cache).push(build.tag, archive)
        _import(settings, archive, build.tag, image)
        archive.unlink()
    return image


def import_pause(settings: Settings) -> None:
    """Hand containerd the image of every pod's sandbox."""
    archive = pause_archive(settings.cache)
    if not archive.exists():
        # Only then: a build that holds the lock for minutes must not hold up a cluster that is starting.
        with _images_locked(settings):
            make_pause(settings.cache, archive)
    _import(settings, archive, PAUSE_IMAGE, archive.stem)


def uses(base: str, build: Build) -> bool:
    """Whether the Dockerfile, or an argument given to it, names this base."""
    return any(base in text for text in (build.file.read_text(), *build.arguments))


def pip_configuration(environ: Mapping[str, str], configured: Mapping[str, str], bundle: Path | None) -> str:
    """A pip.conf for the build from this machine's settings; empty where pip's defaults do."""
    found = {name: configured[name] for name in PIP_SETTINGS.values() if name in configured}
    found |= {name: environ[variable] for variable, name in PIP_SETTINGS.items() if environ.get(variable)}
    if bundle is not None:
        found["cert"] = CA_BUNDLE
    if not found:
        return ""
    return "[global]\n" + "".join(f"{name} = {value}\n" for name, value in found.items())


def ca_bundle(environ: Mapping[str, str], configured: Mapping[str, str]) -> Path | None:
    """The authorities that this machine was told to trust, if any; pip's own setting first."""
    for candidate in (environ.get("PIP_CERT"), configured.get("cert"), environ.get("SSL_CERT_FILE")):
        if candidate and Path(candidate).is_file():
            return Path(candidate).resolve()
    return None


def parse_pip_list(listing: str) -> dict[str, str]:
    """The [global] settings in the output of `pip config list`, by name."""
    pairs = (line.partition("=") for line in listing.splitlines())
    return {
        key.removeprefix("global."): value.strip("'") for key, _, value in pairs if key.startswith("global.")
    }


def _images_locked(settings: Settings) -> AbstractContextManager[None]:
    return locked(settings.cache / "locks" / "images", "an image")


def _import(settings: Settings, archive: Path, tag: str, image: str) -> None:
    ctr = ["ctr", f"--address={containerd_socket(settings)}", "--namespace=k8s.io"]
    capture([*ctr, "images", "import", str(archive)], seconds=SLOW_SECONDS)
    write_json(settings.state / "images.json", _imported(settings) | {tag: image})
    say(f"imported {tag} ({image[:12]})")


def _imported(settings: Settings) -> dict[str, str]:
    stored: dict[str, str] = read_json(settings.state / "images.json", {})
    return stored


def _bud(cache: Path, build: Build) -> str:
    say(f"building {build.tag} from {build.file}")
    with _build_mounts() as mounts, tempfile.TemporaryDirectory() as scratch:
        id_file = Path(scratch, "id")
        options = [f"--iidfile={id_file}", f"--tag={build.tag}", f"--file={build.file}", *mounts]
        options += [f"--build-arg={argument}" for argument in build.arguments]
        options += [f"--target={build.target}"] if build.target else []
        fixed = ("--isolation=chroot", "--layers", "--pull-never")
        Buildah(cache).run("bud", *fixed, *options, build.context)
        return id_file.read_text().strip().removeprefix("sha256:")


@contextmanager
def _build_mounts() -> Iterator[list[str]]:
    """Volumes for the build alone, so that nothing of this machine's settings ends up in an image."""
    configured = _pip_configured()
    bundle = ca_bundle(os.environ, configured)
    mounts = [] if bundle is None else [f"--volume={bundle}:{CA_BUNDLE}:ro"]
    text = pip_configuration(os.environ, configured, bundle)
    with tempfile.TemporaryDirectory() as scratch:
        if text:
            file = write_text(Path(scratch, "pip.conf"), text, mode=0o644)
            mounts.append(f"--volume={file}:/etc/pip.conf:ro")
        yield mounts


def _pip_configured() -> dict[str, str]:
    pip = ["python3", "-m", "pip"]
    return parse_pip_list(capture([*pip, "config", "list"])) if succeeds([*pip, "--version"]) else {}
