from __future__ import annotations

from pathlib import Path

import pytest

from skynet.runs.doctor import (
    Status,
    clock_finding,
    disk_finding,
    embedded_findings,
    examine,
    package_findings,
    python_finding,
    store_finding,
)
from skynet.runs.session import open_store
from skynet.spec import parse_spec


@pytest.mark.parametrize(
    ("found", "platform", "status"),
    [
        ((3, 11, 0), "linux", "ok"),
        ((3, 14, 1), "darwin", "ok"),
        ((3, 10, 9), "linux", "failed"),
        ((3, 12, 0), "win32", "failed"),
    ],
)
def test_python_and_system(found: tuple[int, ...], platform: str, status: Status) -> None:
    finding = python_finding(found, platform)
    assert finding.status == status
    assert bool(finding.repair) == (status == "failed")


def test_a_missing_or_old_package_fails_and_a_missing_extra_is_a_note() -> None:
    wanted = ["pydantic>=99.0", "no-such-package", "pytest", 'nothing-here>=1; extra == "data"', 'x; extra == "dev"']
    needed, extra = package_findings(wanted)
    assert needed.status == "failed"
    assert "pydantic is 2" in needed.message
    assert "no-such-package is not installed" in needed.message
    assert (extra.name, extra.status) == ("extra data", "note")
    assert "pip install 'skynet-optimizer[data]'" in extra.repair


@pytest.mark.parametrize("bound", ["pydantic", "pydantic>=2", "pydantic>=2.0,<3", "pydantic[email]>=2.0.0"])
def test_an_installed_package_is_fine(bound: str) -> None:
    assert [finding.status for finding in package_findings([bound])] == ["ok"]


@pytest.mark.parametrize(("named", "status"), [(True, "failed"), (False, "note")])
def test_an_embedded_model_that_is_not_there_fails_where_the_project_names_it(
    tmp_path: Path, named: bool, status: Status
) -> None:
    models = {"task": "local/smollm2-135m"} if named else {}
    spec = parse_spec({"objective": "x", "target": {"kind": "chat"}, "models": models}, tmp_path, code=["metric.path"])
    (finding,) = embedded_findings(spec, {"SKYNET_CACHE": str(tmp_path)})
    assert (finding.status, finding.repair) == (status, "skynet models pull smollm2-135m")


def test_a_store_is_counted_and_a_damaged_one_fails(tmp_path: Path) -> None:
    assert store_finding(tmp_path).message == "none yet; the first run makes it"
    open_store(tmp_path).close()
    assert store_finding(tmp_path).message.endswith("skynet.db, 0 runs")
    path = tmp_path / ".skynet" / "skynet.db"
    path.write_bytes(b"no database at all, though long enough to be looked at" * 20)
    finding = store_finding(tmp_path)
    assert finding.status == "failed"
    assert "away" in finding.repair


@pytest.mark.parametrize(("free", "status"), [(5 << 30, "ok"), (500 << 20, "warning"), (1 << 20, "failed")])
def test_disk(tmp_path: Path, free: int, status: Status) -> None:
    assert disk_finding(tmp_path, free).status == status


@pytest.mark.parametrize(
    ("now", "resolution", "status"), [(9e9, 1e-9, "ok"), (1.0, 1e-9, "failed"), (9e9, 0.015, "warning")]
)
def test_clock(tmp_path: Path, now: float, resolution: float, status: Status) -> None:
    assert clock_finding(tmp_path, now, resolution).status == status


def test_this_machine_can_be_examined(tmp_path: Path) -> None:
    names = [finding.name for finding in examine(tmp_path, None, {"SKYNET_CACHE": str(tmp_path)})]
    assert names[:2] == ["Python", "packages"]
    assert names[-4:] == ["embedded model", "store", "disk", "clock"]
