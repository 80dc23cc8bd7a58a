"""buildah with its storage in the cache folder, so that it meets no other images of this machine."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from devcluster.shell import capture

SLOW_SECONDS = 3600.0


class Buildah:
    """Image building without a daemon; every method raises DevclusterError with buildah's message."""

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._argv = ["buildah", f"--root={cache}/buildah/root", f"--runroot={cache}/buildah/run"]

    def run(self, *words: str | Path) -> str:
        """Stdout of one buildah command; its scratch files are gone afterwards, whatever happened."""
        self._cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._cache, prefix="buildah-") as scratch:
            env = os.environ | {"TMPDIR": scratch}
            return capture([*self._argv, *map(str, words)], seconds=SLOW_SECONDS, env=env)

    def push(self, image: str, archive: Path) -> None:
        """Write an image as an archive that containerd and buildah read.

        In Docker's format, because buildah compresses OCI archives, and that takes longer than all the rest.
        """
        archive.parent.mkdir(parents=True, exist_ok=True)
        draft = archive.with_suffix(".partial")
        draft.unlink(missing_ok=True)
        self.run("push", "--quiet", image, f"docker-archive:{draft}:{image}")
        draft.replace(archive)

    def commit(self, image: str, source: Path, target: str, config: Sequence[str]) -> None:
        """An image of nothing but `source` copied to `target`, with settings as for `buildah config`."""
        container = self.run("from", "scratch").strip()
        try:
            self.run("add", container, source, target)
            self.run("config", *config, container)
            self.run("commit", "--quiet", container, image)
        finally:
            self.run("rm", container)
