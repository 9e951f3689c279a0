from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from skynet.models.pull import SMOLLM2_135M, PullProgress
from tests.cli.command import skynet
from tests.loopback import ModelServer, status
from tests.projects import write_project

EMBEDDED = "local/smollm2-135m"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    server = ModelServer("ok")
    yield server
    server.close()


def entry(url: str, name: str = "openai/loopback", more: str = "") -> str:
    return f'{{ name = "{name}", base_url = "{url}", price = {{ input = 1.0, output = 2.0 }}{more} }}'


def project(folder: Path, *lines: str) -> Path:
    return write_project(folder / "project", more="[models]\n" + "\n".join(lines) + "\n")


def test_list_without_a_project_holds_the_embedded_model_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SKYNET_CACHE", str(tmp_path / "cache"))
    assert skynet("models", "list", tmp_path, "--json").json == [
        {
            "name": EMBEDDED, "roles": [], "base_url": None, "price": {"input": 0.0, "output": 0.0}, "pulled": False,
            "reachable": None,
        }
    ]  # fmt: skip
    assert "not pulled yet" in skynet("models", "list", tmp_path).out


def test_list_names_a_models_roles_and_the_metrics_fallback(tmp_path: Path, server: ModelServer) -> None:
    folder = project(tmp_path, f"task = {entry(server.url, 'openai/small')}", f"reflection = {entry(server.url)}")
    listed = {row["name"]: row for row in skynet("models", "list", folder, "--json").json}
    assert listed["openai/small"]["roles"] == ["task"]
    assert listed["openai/loopback"]["roles"] == ["reflection", "metric"]
    assert listed["openai/loopback"]["price"] == {"input": 1.0, "output": 2.0}
    assert listed["openai/loopback"]["reachable"] is None
    assert listed[EMBEDDED]["roles"] == []
    assert server.requests == []


def test_list_gives_a_model_without_a_price_null(tmp_path: Path, server: ModelServer) -> None:
    folder = project(tmp_path, f'reflection = {{ name = "openai/loopback", base_url = "{server.url}" }}')
    assert skynet("models", "list", folder, "--json").json[0]["price"] is None
    assert "unknown" in skynet("models", "list", folder).out


def test_test_calls_each_model_once_and_shows_cost_and_latency(tmp_path: Path, server: ModelServer) -> None:
    folder = project(tmp_path, f"task = {entry(server.url)}", f"reflection = {entry(server.url)}")
    done = skynet("models", "test", folder, "--json")
    [row] = done.json
    assert done.status == 0
    assert len(server.requests) == 1
    assert (row["roles"], row["reachable"], row["reply"], row["error"]) == (
        ["task", "reflection", "metric"], True, "ok", None,
    )  # fmt: skip
    assert row["cost_usd"] == pytest.approx((5 * 1.0 + 1 * 2.0) / 1e6)
    assert row["latency_ms"] > 0


def test_test_exits_1_and_gives_the_providers_words_when_a_model_does_not_answer(
    tmp_path: Path, server: ModelServer
) -> None:
    server.fail_always(status(401, "no such key"))
    folder = project(tmp_path, f"reflection = {entry(server.url)}")
    done = skynet("models", "test", folder)
    assert done.status == 1
    assert done.out.startswith("FAIL  openai/loopback (reflection, metric): ")
    assert "no such key" in done.out


@pytest.mark.parametrize("role", ["task", "reflection", "metric"])
def test_a_model_that_does_not_answer_is_named_by_the_role_that_the_project_gives_it(
    tmp_path: Path, server: ModelServer, role: str
) -> None:
    server.fail_always(status(401, "no such key"))
    folder = project(tmp_path, f"{role} = {entry(server.url)}")
    [row] = skynet("models", "test", folder, "--json").json
    assert row["error"].startswith(f"The {role} model 'openai/loopback' refused the call")


@pytest.mark.parametrize("command", ["list", "test"])
def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, command: str) -> None:
    done = skynet("models", command, tmp_path / "nowhere")
    assert (done.status, done.out) == (2, "")
    assert "there is no folder" in done.err


def test_a_missing_key_is_told_for_its_model_and_the_others_are_still_tested(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    keyed = entry(server.url, "openai/keyed", ', api_key_env = "NO_SUCH_KEY"')
    folder = project(tmp_path, f"task = {keyed}", f"reflection = {entry(server.url)}")
    done = skynet("models", "test", folder, "--json")
    assert done.status == 1
    assert [row["reachable"] for row in done.json] == [False, True]
    assert "NO_SUCH_KEY" in done.json[0]["error"]


def test_test_of_a_project_without_a_model_is_refused(tmp_path: Path) -> None:
    done = skynet("models", "test", write_project(tmp_path / "project"))
    assert done.status == 2
    assert "[models]" in done.err


def test_pull_prints_the_path_of_the_file(embedded_model: Path) -> None:
    done = skynet("models", "pull", EMBEDDED)
    assert (done.status, done.out.strip()) == (0, str(embedded_model))


def test_pull_of_an_unknown_model_names_the_nearest() -> None:
    done = skynet("models", "pull", "smollm2")
    assert done.status == 2
    assert "Did you mean 'smollm2-135m'?" in done.err


def test_progress_without_a_terminal_is_a_line_at_each_quarter(capsys: pytest.CaptureFixture[str]) -> None:
    from skynet.cli.pull import PullView

    with PullView(SMOLLM2_135M.name) as view:
        for done in range(0, 101, 5):
            view.show(PullProgress("download", done * 10**6, 100 * 10**6))
        view.show(PullProgress("wait", 0, 0))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        *(f"Fetching smollm2-135m: {share} % of 100 MB" for share in (0, 25, 50, 75, 100)),
        "Waiting for another process that fetches smollm2-135m",
    ]
