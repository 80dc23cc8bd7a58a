"""Which files are meant by what is typed, and what becomes of those that can't be read."""

import os
import sys
import threading
from pathlib import Path

import pytest

from specdeploy.cli.reading import NoFileError, contents, sources
from specdeploy.cli.reading.files import MOST_BYTES

HEAD = "apiVersion: specdeploy.dev/v1alpha1\nkind: SpecDeployment\nmetadata: {name: gemma}\n"
SPEC = HEAD + "spec:\n  model: google/gemma\n"


def test_a_stdin_that_is_closed_or_only_for_writing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(NoFileError, match="stdin is closed"):
        list(sources(["-"]))
    with Path(os.devnull).open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        with pytest.raises(NoFileError, match="stdin can't be read"):
            list(sources(["-"]))


def test_files_are_read_whole_folders_in_order_and_only_what_is_ours(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / ".git").mkdir()
    for name in ("b/z.yml", "b/a.json", "c.yaml", "note.txt", ".git/x.yaml"):
        (tmp_path / name).write_text(SPEC)
    (tmp_path / "template.yaml").write_text("{{ if }}")
    names = [Path(source.name).relative_to(tmp_path).as_posix() for source in sources([str(tmp_path)])]
    assert names == ["c.yaml", "b/a.json", "b/z.yml"]


def test_a_name_that_is_no_file_is_a_mistake_of_who_types_it(tmp_path: Path) -> None:
    with pytest.raises(NoFileError, match="no such file"):
        list(sources([str(tmp_path / "none.yaml")]))
    with pytest.raises(NoFileError, match="no such file"):
        list(sources(["x" * 5000]))
    with pytest.raises(NoFileError, match="no file that ends in"):
        list(sources([str(tmp_path)]))


def test_a_folder_that_can_not_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As root nothing is closed: the system's own listing says no."""
    (tmp_path / "closed").mkdir()
    (tmp_path / "a.yaml").write_text(SPEC)
    listing = os.scandir

    def scandir(folder: str) -> object:
        if os.fspath(folder).endswith("closed"):
            raise PermissionError(13, "Permission denied", folder)
        return listing(folder)

    monkeypatch.setattr(os, "scandir", scandir)
    closed, good = sources([str(tmp_path)])
    assert good.broken is None
    assert (closed.name, [f.finding.code for f in contents(closed).broken]) == (
        str(tmp_path / "closed"),
        ["SD019"],
    )
    assert [source.name for source in sources([str(tmp_path / "closed")])] == [closed.name]


def test_a_pipe_in_a_folder_is_passed_over_and_one_that_is_named_is_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    (tmp_path / "a.yaml").write_text(SPEC)
    assert [Path(source.name).name for source in sources([str(tmp_path)])] == ["a.yaml"]
    writer = threading.Thread(target=pipe.write_text, args=(SPEC,), daemon=True)
    writer.start()
    assert [source.text for source in sources([str(pipe)])] == [SPEC]


def test_a_link_that_leads_nowhere_is_a_finding_wherever_it_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").symlink_to("b.yaml")
    (tmp_path / "b.yaml").symlink_to("a.yaml")
    (tmp_path / "c.yaml").symlink_to("none.yaml")
    named = [str(tmp_path / name) for name in ("a.yaml", "b.yaml", "c.yaml")]
    for words in ([str(tmp_path)], named):
        found = [source for source in sources(words) if source.broken and source.broken.rule.code == "SD019"]
        assert [source.name for source in found] == named


# what is in a file -> (line, column, a part of the reason)
BYTES: dict[str, tuple[bytes, int, int, str]] = {
    "no text": (b"kind: x\nab\xff", 2, 3, "is no UTF-8 text"),
    "too much": (b"#" * (MOST_BYTES + 1), 1, 1, "larger than 16 MiB"),
}


@pytest.mark.parametrize("case", BYTES)
def test_a_file_that_can_not_be_read_is_told_with_its_place(case: str, tmp_path: Path) -> None:
    content, line, column, words = BYTES[case]
    (tmp_path / "f.yaml").write_bytes(content)
    [source] = sources([str(tmp_path / "f.yaml")])
    [found] = contents(source).broken
    assert (found.line, found.column, found.finding.code) == (line, column, "SD019")
    assert words in found.finding.reason


def test_a_mark_of_the_byte_order_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "f.yaml").write_bytes(b"\xef\xbb\xbf" + SPEC.encode())
    [source] = sources([str(tmp_path / "f.yaml")])
    assert len(contents(source).objects) == 1
