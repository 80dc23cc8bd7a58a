from pathlib import Path

import pytest

from devcluster.__main__ import main


@pytest.fixture
def no_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECDEPLOY_STATE", str(tmp_path))
    monkeypatch.setenv("SPECDEPLOY_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("no_cluster")
@pytest.mark.parametrize("verb", ["status", "reset", "kubeconfig", "env"])
def test_without_a_cluster_a_verb_says_how_to_get_one(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb]) == 1
    assert "python3 -m devcluster up" in capsys.readouterr().err


@pytest.mark.usefixtures("no_cluster")
def test_taking_down_what_is_not_up_is_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down"]) == 0
    assert "nothing to do" in capsys.readouterr().err


@pytest.mark.usefixtures("no_cluster")
def test_the_folder_of_binaries_is_known_before_they_are_built(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["path"]) == 0
    assert capsys.readouterr().out.strip().endswith("/bin")


@pytest.mark.usefixtures("no_cluster")
def test_a_label_without_a_value_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up", "--label", "amd.com/gpu.device-id"]) == 1
    assert "KEY=VALUE" in capsys.readouterr().err
