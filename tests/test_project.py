"""The project's own files agree with each other, and hold nothing of the machine that they were written on."""

from __future__ import annotations

import importlib.metadata
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
# Written so that this file does not match itself.
MACHINE_PATH = re.compile(r"(?<![\w.:/~-])/(?:root|home|Users|work|workspace|mnt|srv)/[\w.-]+")
INDEX_ADDRESS = re.compile(r"--(?:extra-)?index-ur[l]|--find-link[s]|pythonhosted[.]org|https?://\S*/simpl[e]\b")


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
    return table


@pytest.fixture(scope="module")
def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: what is tracked is not known")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def matches(pattern: re.Pattern[str], files: list[Path]) -> list[str]:
    found = []
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
            if pattern.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    return found


def requirements(table: dict[str, Any]) -> list[Requirement]:
    groups = [table["dependencies"], *table["optional-dependencies"].values()]
    return [Requirement(text) for group in groups for text in group]


def needed(distribution: str, extras: set[str]) -> Iterator[Requirement]:
    """Yield what an installed distribution requires here, with these extras."""
    for text in importlib.metadata.requires(distribution) or []:
        requirement = Requirement(text)
        marker = requirement.marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in {"", *extras}):
            yield requirement


def closure(start: list[Requirement]) -> set[str]:
    """Return the names of all that the requirements need, as far as it is installed."""
    seen: dict[str, set[str]] = {}
    waiting = list(start)
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in seen and requirement.extras <= seen[name]:
            continue
        seen[name] = seen.get(name, set()) | requirement.extras
        try:
            waiting += needed(name, seen[name])
        except importlib.metadata.PackageNotFoundError:
            continue  # an extra that is not installed here; its own name still has to be pinned
    return set(seen)


def test_no_file_holds_a_path_of_a_machine(tracked: list[Path]) -> None:
    assert matches(MACHINE_PATH, tracked) == []


def test_no_file_holds_a_package_index_address(tracked: list[Path]) -> None:
    assert matches(INDEX_ADDRESS, tracked) == []


@pytest.mark.parametrize("text", ["path = /" + "home/me/skynet", "cd /" + "Users/me", '"/' + 'work/x"'])
def test_a_machine_path_is_recognized(text: str) -> None:
    assert MACHINE_PATH.search(text)


@pytest.mark.parametrize(
    "text", ["--index-" + "url x", "https://example.org/simp" + "le", "files.pythonhosted" + ".org"]
)
def test_an_index_address_is_recognized(text: str) -> None:
    assert INDEX_ADDRESS.search(text)


def test_the_newest_changelog_entry_is_the_version(project: dict[str, Any]) -> None:
    entries = re.findall(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert entries[0] == project["project"]["version"]


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_every_make_command_of_a_document_is_a_target(document: str) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    named = set(re.findall(r"(?:^|`)make ([a-z]+)", (ROOT / document).read_text(), flags=re.MULTILINE))
    assert {"test"} <= named
    assert named <= targets


def test_the_first_screen_of_the_readme_shows_demo_and_test() -> None:
    first = (ROOT / "README.md").read_text().splitlines()[:30]
    assert any(line.startswith("make demo") for line in first)
    assert any(line.startswith("make test") for line in first)


def test_every_constraint_is_an_exact_pin() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+", line)] == []
    assert len({canonicalize_name(line.partition("==")[0]) for line in lines}) == len(lines)


def test_every_dependency_is_pinned_transitive_ones_too(project: dict[str, Any], pins: dict[str, str]) -> None:
    name = project["project"]["name"]
    wanted = [requirement for requirement in requirements(project["project"]) if requirement.name != name]
    assert closure(wanted) - set(pins) == set()


def test_every_pin_satisfies_what_the_project_asks_for(project: dict[str, Any], pins: dict[str, str]) -> None:
    wrong = [
        f"{requirement} but pinned {pins[canonicalize_name(requirement.name)]}"
        for requirement in requirements(project["project"])
        if requirement.name != project["project"]["name"]
        and not requirement.specifier.contains(pins[canonicalize_name(requirement.name)], prereleases=True)
    ]
    assert wrong == []


def test_every_package_folder_is_installed(project: dict[str, Any]) -> None:
    files = [path for top in ("skynet", "engines") for path in (ROOT / top).rglob("__init__.py")]
    folders = {path.parent.relative_to(ROOT) for path in files}
    names = {".".join(folder.parts).replace("engines", "skynet_engines", 1) for folder in folders}
    assert set(project["tool"]["setuptools"]["packages"]) == names


def test_every_folder_with_modules_is_a_package() -> None:
    modules = [path for top in ("skynet", "engines", "tests") for path in (ROOT / top).rglob("*.py")]
    folders = {path.parent for path in modules if "templates" not in path.parts}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").exists()] == []
