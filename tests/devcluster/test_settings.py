from pathlib import Path

import pytest

from devcluster.errors import DevclusterError
from devcluster.settings import PORT_NAMES, Settings, changed, folders, save, saved

HERE = Settings(state=Path("/state"), cache=Path("/cache"))


def test_folders_come_from_the_environment_or_the_usual_cache() -> None:
    assert folders({"SPECDEPLOY_STATE": "/s", "SPECDEPLOY_CACHE": "/c"}) == (Path("/s"), Path("/c"))
    assert folders({"XDG_CACHE_HOME": "/x"})[1] == Path("/x/specdeploy")


def test_a_state_folder_too_deep_for_sockets_is_refused_with_the_way_out() -> None:
    with pytest.raises(DevclusterError, match="SPECDEPLOY_STATE"):
        folders({"SPECDEPLOY_STATE": "/" + "d" * 80})


def test_settings_survive_the_state_folder(tmp_path: Path) -> None:
    settings = Settings(
        state=tmp_path,
        cache=Path("/cache"),
        port_base=20000,
        control_plane_only=True,
        gpus=2,
        labels={"a": "b"},
    )
    save(settings)
    assert saved(tmp_path, Path("/cache")) == settings


def test_a_folder_without_a_cluster_has_no_settings(tmp_path: Path) -> None:
    assert saved(tmp_path, Path("/cache")) is None


def test_two_clusters_whose_bases_are_nine_apart_share_no_port() -> None:
    other = changed(HERE, port_base=HERE.port_base + len(PORT_NAMES))
    ports = {settings.port(name) for settings in (HERE, other) for name in PORT_NAMES}
    assert len(ports) == 2 * len(PORT_NAMES)


def test_a_wish_that_was_not_made_changes_nothing() -> None:
    assert changed(HERE, gpus=None, port_base=None) == HERE
    assert changed(HERE, gpus=0).gpus == 0
