from __future__ import annotations

from pathlib import Path

import pytest

from skynet.artifact import Artifact
from skynet.evaluation.amounts import Amounts
from skynet.runs.books import RunBooks
from skynet.runs.session import open_store
from tests.cli.command import on_a_terminal, skynet
from tests.cli.conftest import Made
from tests.made_runs import BEST, START


def dead_run(folder: Path, *, versions: bool = True) -> str:
    """Store a run whose driver is gone: the row says running, and nobody holds its lock."""
    with open_store(folder) as store:
        row, lock = store.start_run("upper", {"engine": {"name": "gepa"}, "artifact": {"path": "start.txt"}}, {})
        books = RunBooks(store, row)
        if versions:
            start, better = Artifact("text", START), Artifact("text", BEST)
            books.add_version(start, None, "the start version", Amounts(7))
            books.accepted(start.id, 0.25, Amounts(11))
            books.add_version(better, start.id, "a try", Amounts(11))
            books.accepted(better.id, 0.75, Amounts(15))
        lock.release()
        return row.id


def test_list_json_is_an_array_of_run_objects_newest_first(copied: Made) -> None:
    newer = dead_run(copied.folder)
    listed = skynet("runs", "list", copied.folder, "--json").json
    assert [run["run"] for run in listed] == [newer, copied.result.run]
    report = str(copied.folder / ".skynet" / "runs" / copied.result.run / "report.html")  # where it is now
    times = {name: listed[1].pop(name) for name in ("started_at", "ended_at")}
    assert listed[1] == copied.result.to_json() | {"report": report}
    assert times["started_at"] <= times["ended_at"]


def test_list_shows_status_and_gain_with_its_interval(made: Made) -> None:
    out = skynet("runs", "list", made.folder).out
    line = next(line for line in out.splitlines() if line.startswith(made.result.run))
    assert "finished" in line
    assert "+1 (+0.571 to +1)" in line


def test_list_without_a_store_is_empty_and_makes_none(tmp_path: Path) -> None:
    assert skynet("runs", "list", tmp_path, "--json").json == []
    assert "`skynet run` starts one" in skynet("runs", "list", tmp_path).out
    assert list(tmp_path.iterdir()) == []


def test_show_json_is_the_run_object_with_its_events(made: Made) -> None:
    shown = skynet("runs", "show", made.result.run, made.folder, "--json").json
    events = shown.pop("events")
    assert shown == made.result.to_json()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert all({"seq", "at", "kind", "version", "reason"} <= set(event) for event in events)
    assert {"state", "evaluated", "proposed", "accepted", "lane"} <= {event["kind"] for event in events}


def test_show_tells_the_verdict_and_where_the_report_is(made: Made) -> None:
    out = skynet("runs", "show", made.result.run, made.folder).out
    assert "finished, engine_done" in out
    assert "A gain of +1 on test" in out
    assert f"Report: {made.result.report}" in out


def test_a_beginning_of_the_id_is_enough_when_only_one_run_has_it(copied: Made) -> None:
    assert skynet("runs", "show", copied.result.run[:-1], copied.folder, "--json").json["run"] == copied.result.run
    dead_run(copied.folder)
    done = skynet("runs", "show", copied.result.run[:4], copied.folder)
    assert (done.status, done.out) == (2, "")
    assert "2 runs begin with" in done.err


def test_an_unknown_run_is_refused_and_names_the_nearest(made: Made) -> None:
    done = skynet("runs", "show", made.result.run[:-1] + "!", made.folder)
    assert (done.status, done.out) == (2, "")
    assert f"Did you mean {made.result.run!r}?" in done.err


def test_a_command_on_a_run_without_a_store_says_what_makes_one(tmp_path: Path) -> None:
    done = skynet("runs", "show", "x", tmp_path)
    assert done.status == 2
    assert "`skynet run` makes one" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_run_whose_driver_died_is_shown_as_interrupted_with_what_it_had(tmp_path: Path) -> None:
    run = dead_run(tmp_path)
    shown = skynet("runs", "show", run, tmp_path, "--json").json
    assert (shown["status"], shown["finish_reason"], shown["difference"], shown["report"]) == (
        "interrupted", None, None, None,
    )  # fmt: skip
    assert shown["baseline"] == {"val": 0.25, "test": None}
    assert shown["best"] == {"version": Artifact("text", BEST).id, "val": 0.75, "test": None}
    assert (shown["metric_calls"], shown["cost_usd"], shown["changed"]) == (15, 0.0, True)
    assert f"skynet runs resume {run}" in skynet("runs", "show", run, tmp_path).out


def test_resuming_a_run_that_has_ended_tells_how_and_what_would_go_on(made: Made) -> None:
    run = made.result.run
    done = skynet("runs", "resume", run, made.folder)
    assert (done.status, done.err) == (0, "")
    assert f"Run {run} of upper, engine best_of_n: finished, engine_done" in done.out
    assert "A gain of +1 on test" in done.out
    assert f"Report: {made.folder}" in done.out
    assert "The engine came to the end of its search." in done.out
    assert "It has ended, so nothing was run." in done.out
    assert f"skynet runs resume {run} --add-budget metric_calls=100" in done.out
    assert f"skynet run --fork {run}" in done.out


def test_resuming_a_run_that_has_ended_prints_its_object_with_json(made: Made) -> None:
    told = skynet("runs", "resume", made.result.run, made.folder, "--json").json
    assert (told["run"], told["status"], told["error"]) == (made.result.run, "finished", None)


def test_diff_is_unified_from_start_to_best(made: Made) -> None:
    lines = skynet("runs", "diff", made.result.run, made.folder).out.splitlines()
    start = made.result.data["versions"][0]["id"]
    assert lines[:2] == [f"--- start {start}", f"+++ best {made.result.best['version']}"]
    assert lines[3:] == [f"-{START.strip()}", f"+{BEST}"]


def test_diff_takes_two_versions_by_the_beginnings_of_their_ids(made: Made) -> None:
    ids = [version["id"] for version in made.result.data["versions"]]
    out = skynet("runs", "diff", made.result.run, made.folder, "--versions", ids[2][:8], ids[1][:8]).out
    assert out.splitlines()[:2] == [f"--- {ids[2]}", f"+++ {ids[1]}"]


def test_diff_of_a_version_with_itself_says_so_on_stderr(made: Made) -> None:
    done = skynet("runs", "diff", made.result.run, made.folder, "--versions", "best", "best")
    assert (done.status, done.out) == (0, "")
    assert "the same version" in done.err


def test_diff_is_plain_where_colours_are_not_wanted(made: Made) -> None:
    coloured = on_a_terminal("runs", "diff", made.result.run, made.folder, NO_COLOR="")
    plain = on_a_terminal("runs", "diff", made.result.run, made.folder, NO_COLOR="1")
    assert "\x1b[" in coloured
    assert "\x1b[" not in plain


def test_diff_of_an_unknown_version_is_refused(made: Made) -> None:
    done = skynet("runs", "diff", made.result.run, made.folder, "--versions", "start", "nothing")
    assert done.status == 2
    assert "no version 'nothing'" in done.err


def test_export_prints_the_best_version_byte_for_byte(made: Made) -> None:
    assert skynet("runs", "export", made.result.run, made.folder).out == made.result.best.text


def test_export_writes_to_a_path(made: Made, tmp_path: Path) -> None:
    done = skynet("runs", "export", made.result.run, made.folder, "-o", tmp_path / "best.txt")
    assert done.status == 0
    assert (tmp_path / "best.txt").read_text() == made.result.best.text


def test_export_to_a_folder_that_is_not_there_is_refused(made: Made, tmp_path: Path) -> None:
    done = skynet("runs", "export", made.result.run, made.folder, "-o", tmp_path / "no" / "best.txt")
    assert done.status == 2
    assert "cannot write" in done.err


def test_apply_overwrites_the_artifact_and_a_second_time_changes_nothing(copied: Made) -> None:
    first = skynet("runs", "export", copied.result.run, copied.folder, "--apply")
    assert (first.status, (copied.folder / "start.txt").read_text()) == (0, copied.result.best.text)
    second = skynet("runs", "export", copied.result.run, copied.folder, "--apply")
    assert "holds the best version already" in second.out


@pytest.mark.parametrize("now", ["Somebody edited it.", None])
def test_apply_refuses_a_file_that_changed_since_the_run_started_unless_yes(copied: Made, now: str | None) -> None:
    file = copied.folder / "start.txt"
    file.unlink() if now is None else file.write_text(now)
    refused = skynet("runs", "export", copied.result.run, copied.folder, "--apply")
    assert refused.status == 2
    assert "nothing was written" in refused.err
    assert (file.read_text() if file.exists() else None) == now
    assert skynet("runs", "export", copied.result.run, copied.folder, "--apply", "--yes").status == 0
    assert file.read_text() == copied.result.best.text


def test_apply_keeps_the_line_endings_of_the_file(copied: Made) -> None:
    file = copied.folder / "start.txt"
    file.write_bytes(START.replace("\n", "\r\n").encode())
    assert skynet("runs", "export", copied.result.run, copied.folder, "--apply").status == 0
    assert file.read_bytes() == copied.result.best.text.replace("\n", "\r\n").encode()


def test_apply_writes_through_a_link(copied: Made) -> None:
    file, real = copied.folder / "start.txt", copied.folder / "real.txt"
    file.rename(real)
    file.symlink_to(real)
    assert skynet("runs", "export", copied.result.run, copied.folder, "--apply").status == 0
    assert file.is_symlink()
    assert real.read_text() == copied.result.best.text


def test_export_of_a_run_without_a_gain_says_so_on_stderr(tmp_path: Path) -> None:
    done = skynet("runs", "export", dead_run(tmp_path), tmp_path)
    assert done.out == BEST
    assert "the run was interrupted" in done.err


def test_export_of_a_run_that_had_no_version_is_refused(tmp_path: Path) -> None:
    done = skynet("runs", "export", dead_run(tmp_path, versions=False), tmp_path)
    assert done.status == 2
    assert "before it had a version" in done.err


@pytest.mark.parametrize("options", [["--apply", "-o", "x"], ["--yes"]])
def test_export_refuses_options_that_do_not_go_together(made: Made, options: list[str]) -> None:
    assert skynet("runs", "export", made.result.run, made.folder, *options).status == 2


def test_delete_removes_rows_and_report_and_leaves_other_runs(copied: Made) -> None:
    other = dead_run(copied.folder)
    assert skynet("runs", "delete", copied.result.run, copied.folder, "--yes").status == 0
    assert [run["run"] for run in skynet("runs", "list", copied.folder, "--json").json] == [other]
    assert not (copied.folder / ".skynet" / "runs" / copied.result.run).exists()


def test_delete_without_a_terminal_asks_for_yes_and_deletes_nothing(copied: Made) -> None:
    done = skynet("runs", "delete", copied.result.run, copied.folder)
    assert done.status == 2
    assert "--yes" in done.err
    assert len(skynet("runs", "list", copied.folder, "--json").json) == 1


def test_a_run_that_is_driven_is_shown_as_running_and_not_deleted(copied: Made) -> None:
    with open_store(copied.folder) as store:
        row, lock = store.start_run("upper", {"engine": {"name": "gepa"}}, {})
        with lock:
            assert skynet("runs", "list", copied.folder, "--json").json[0]["status"] == "running"
            done = skynet("runs", "delete", row.id, copied.folder, "--yes")
    assert done.status == 2
    assert "is driven by" in done.err


def test_a_damaged_report_is_named(copied: Made) -> None:
    report = copied.folder / ".skynet" / "runs" / copied.result.run / "report.json"
    report.write_text("{")
    done = skynet("runs", "show", copied.result.run, copied.folder)
    assert done.status == 2
    assert str(report) in done.err


def test_a_run_whose_report_was_removed_keeps_its_figures(copied: Made) -> None:
    (copied.folder / ".skynet" / "runs" / copied.result.run / "report.json").unlink()
    out = skynet("runs", "show", copied.result.run, copied.folder).out
    assert "The report is gone" in out
    assert copied.result.best["version"] in out
