from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest

from skynet.cli.init import TEMPLATES, InitError, next_steps, run_init_command, write_project
from skynet.cli.main import Template

NAMES = [template.value for template in Template]


def contents(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_the_option_offers_exactly_the_template_folders() -> None:
    assert set(NAMES) == {path.name for path in TEMPLATES.iterdir()}


@pytest.mark.parametrize("template", NAMES)
def test_a_project_holds_every_file_that_its_spec_names(template: str, tmp_path: Path) -> None:
    written = {str(path.relative_to(tmp_path / "new")) for path in write_project(tmp_path / "new", template)}
    spec = tomllib.loads((tmp_path / "new" / "skynet.toml").read_text())
    named = {spec[table]["path"] for table in ("artifact", "target", "metric", "data") if "path" in spec.get(table, {})}
    folders = {str(Path(file).parent) for file in written}
    assert named | {"skynet.toml", ".gitignore"} <= written | folders
    assert written == set(contents(tmp_path / "new"))


@pytest.mark.parametrize("template", NAMES)
def test_the_data_has_at_least_twelve_rows_and_no_two_alike(template: str, tmp_path: Path) -> None:
    write_project(tmp_path, template)
    spec = tomllib.loads((tmp_path / "skynet.toml").read_text())
    rows = (tmp_path / spec["data"]["path"]).read_text().splitlines()[1:]
    assert len(rows) >= 12
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize("template", NAMES)
def test_git_ignores_the_store_and_the_keys(template: str, tmp_path: Path) -> None:
    write_project(tmp_path, template)
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    command = ["git", "check-ignore", ".skynet/store.db", ".env", "skynet.toml"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.split() == [".skynet/store.db", ".env"]


def test_missing_parent_folders_are_made(tmp_path: Path) -> None:
    write_project(tmp_path / "a" / "über uns", "python")
    assert (tmp_path / "a" / "über uns" / "metric.py").is_file()


def test_other_files_in_the_folder_do_not_hinder_and_stay(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    write_project(tmp_path, "python")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_existing_files_are_all_named_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "metric.py").write_text("mine")
    (tmp_path / "tickets.csv").write_text("mine too")
    before = contents(tmp_path)
    with pytest.raises(InitError, match=r"already holds metric\.py, tickets\.csv\. Nothing was written"):
        write_project(tmp_path, "python")
    assert contents(tmp_path) == before


def test_a_link_to_nowhere_counts_as_an_existing_file(tmp_path: Path) -> None:
    (tmp_path / "metric.py").symlink_to(tmp_path / "elsewhere.py")
    with pytest.raises(InitError, match=r"already holds metric\.py"):
        write_project(tmp_path, "python")
    assert not (tmp_path / "elsewhere.py").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    with pytest.raises(InitError, match="is a file; name a folder"):
        write_project(tmp_path / "taken", "python")


def test_a_folder_that_cannot_be_made_is_refused_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InitError, match=r"Cannot write .*file/project"):
        write_project(tmp_path / "file" / "project", "python")


def test_the_next_steps_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    project = tmp_path / "it's mine"
    steps = next_steps(project, write_project(project, "python"), "python")
    cd = next(line for line in steps.splitlines() if line.startswith("  cd "))
    done = subprocess.run(["sh", "-c", f"{cd} && pwd -P"], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()) == project.resolve()


def test_in_the_current_folder_there_is_no_cd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_init_command(Path("."), "python") == 0
    printed = capsys.readouterr().out
    assert "cd " not in printed
    assert "skynet check" in printed


def test_written_files_are_the_users_to_edit(tmp_path: Path) -> None:
    assert all(os.access(path, os.W_OK) for path in write_project(tmp_path, "reward"))
