"""What this machine and this project need to work, each with the repair: everything that can be seen without a call."""

from __future__ import annotations

import os
import re
import shutil
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any, Literal

from skynet.errors import SkynetError
from skynet.models.prices import LOCAL_PREFIX
from skynet.models.pull import EMBEDDED, is_pulled, model_file
from skynet.runs.engine_check import checked_engine
from skynet.runs.engines import EngineError
from skynet.runs.session import STORE_FILE, STORE_FOLDER, open_store
from skynet.spec import Spec

PACKAGE = "skynet-optimizer"
OLDEST_PYTHON = (3, 11)
LITTLE_DISK = 1 << 30
TOO_LITTLE_DISK = 100 << 20
COARSE_CLOCK = 0.001  # seconds; a coarser clock could not tell fast targets apart
_REQUIREMENT = re.compile(r"([A-Za-z0-9._-]+)\s*(?:\[[^\]]*\])?\s*([^;]*)(?:;.*extra\s*==\s*['\"]([^'\"]+)['\"])?")

Status = Literal["ok", "note", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at. `repair` is what to do; empty where nothing needs doing."""

    name: str
    status: Status
    message: str
    repair: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the fields as plain values."""
        return asdict(self)


def examine(root: Path, spec: Spec | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what is found of the engine, Python, packages, the embedded model, the store, the disk and the clock."""
    if spec is not None:
        yield engine_finding(spec)
    yield python_finding(sys.version_info[:3], sys.platform)
    yield from package_findings(requires(PACKAGE) or [])
    yield from embedded_findings(spec, environ)
    yield store_finding(root)
    yield disk_finding(root, shutil.disk_usage(root).free)
    yield clock_finding(root, time.time(), time.get_clock_info("perf_counter").resolution)


def engine_finding(spec: Spec) -> Finding:
    """Return whether the spec's engine is there and takes the options that the spec gives it."""
    try:
        checked_engine(spec)
    except EngineError as error:
        return Finding("engine", "failed", str(error), "mend `engine` in skynet.toml; `skynet engines` lists them all")
    return Finding("engine", "ok", f"{spec.engine.name}, with valid options")


def python_finding(found: tuple[int, ...], platform: str) -> Finding:
    """Return whether Skynet runs under this Python and on this system."""
    shown = ".".join(map(str, found))
    if found[:2] < OLDEST_PYTHON:
        return Finding("Python", "failed", f"{shown} is too old", "install Python 3.11 or newer, and Skynet into it")
    if platform not in ("linux", "darwin"):
        return Finding("Python", "failed", f"{shown} on {platform}: workers need Linux or macOS", "use WSL on Windows")
    return Finding("Python", "ok", f"{shown} on {platform}")


def package_findings(requirements: list[str]) -> Iterator[Finding]:
    """Yield one finding for the packages that are needed, and one for each extra that is not whole."""
    wrong: dict[str, list[str]] = {}
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        if match is None or match[1] == PACKAGE or match[3] == "dev":
            continue
        fault = _package_fault(match[1], match[2].strip())
        if fault:
            wrong.setdefault(match[3] or "", []).append(fault)
    needed = wrong.pop("", [])
    if needed:
        yield Finding("packages", "failed", "; ".join(needed), f"pip install --upgrade {PACKAGE}")
    else:
        yield Finding("packages", "ok", "all that are needed are installed")
    for extra, faults in sorted(wrong.items()):
        yield Finding(f"extra {extra}", "note", "; ".join(faults), f"if you need it: pip install '{PACKAGE}[{extra}]'")


def _package_fault(name: str, bounds: str) -> str:
    """Return what is wrong with an installed package; empty when it is there and within the bounds that we write."""
    try:
        found = version(name)
    except PackageNotFoundError:
        return f"{name} is not installed"
    for bound in filter(None, (part.strip() for part in bounds.split(","))):
        relation, wanted = bound[:2], bound[2:].strip()
        low = relation == ">=" and _numbers(found) < _numbers(wanted)
        if low or (relation == "==" and _numbers(found) != _numbers(wanted)):
            return f"{name} is {found}, and {bound} is needed"
    return ""


def _numbers(text: str) -> tuple[int, ...]:
    """Return a version's release numbers without trailing zeros."""
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[a-z+-]", text)[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def embedded_findings(spec: Spec | None, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield whether each embedded model is there; one that the project names must be."""
    models = [] if spec is None else [spec.models.task, spec.models.reflection, spec.models.metric]
    named = {model.name.removeprefix(LOCAL_PREFIX) for model in models if model and model.name.startswith(LOCAL_PREFIX)}
    for name, model in EMBEDDED.items():
        if is_pulled(model, environ):
            yield Finding("embedded model", "ok", f"{name} is in {model_file(model, environ)}")
            continue
        status: Status = "failed" if name in named else "note"
        use = "the project names it" if name in named else "the project does not name it"
        yield Finding("embedded model", status, f"{name} is not pulled; {use}", f"skynet models pull {name}")


def store_finding(root: Path) -> Finding:
    """Return whether the project's store can be read and written."""
    path = root / STORE_FOLDER / STORE_FILE
    if not path.exists():
        if os.access(root, os.W_OK):
            return Finding("store", "ok", "none yet; the first run makes it")
        return Finding("store", "failed", f"{root} cannot be written", "give yourself the right to write there")
    try:
        with open_store(root, create=False) as store:
            runs = len(store.runs())
    except SkynetError as error:
        return Finding("store", "failed", str(error), f"move {path} away; the next run makes a new one")
    if not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)):
        return Finding("store", "failed", f"{path} cannot be written", "give yourself the right to write there")
    return Finding("store", "ok", f"{path}, {runs} run{'s' * (runs != 1)}")


def disk_finding(root: Path, free: int) -> Finding:
    """Return whether there is room for a store and reports."""
    told = f"{free / (1 << 30):.1f} GiB free for {root}"
    repair = "free some space, or delete old runs with `skynet runs delete ID`"
    if free < TOO_LITTLE_DISK:
        return Finding("disk", "failed", told, repair)
    return Finding("disk", "warning", told, repair) if free < LITTLE_DISK else Finding("disk", "ok", told)


def clock_finding(root: Path, now: float, resolution: float) -> Finding:
    """Return whether the clocks can be right: not before what was already written, and fine enough to time a target."""
    written = [Path(__file__).stat().st_mtime]
    path = root / STORE_FOLDER / STORE_FILE
    if path.exists():
        written.append(path.stat().st_mtime)
    behind = max(written) - now
    if behind > 1:
        told = f"the clock is at least {behind:.0f} s behind: files here are from later"
        return Finding("clock", "failed", told, "set the system's time, for instance by NTP")
    if resolution > COARSE_CLOCK:
        told = f"the clock ticks every {1000 * resolution:.3g} ms, so speed cannot be measured well"
        return Finding("clock", "warning", told, "give speed no weight in REWARD_SPEC on this machine")
    return Finding("clock", "ok", f"{time.strftime('%Y-%m-%d %H:%M:%S UTC', time.gmtime(now))}")
