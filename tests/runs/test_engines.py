from __future__ import annotations

from pathlib import Path

import pytest

from skynet.runs import engines
from skynet.runs.engines import EngineError, engine_options, list_engines, load_engine, package_of
from skynet.spec import EngineSpec

from .scripted import Scripted, ScriptedOptions, installed, scripted

__all__ = ["scripted"]

BUILT_IN = {"gepa", "demos", "best_of_n"}


def test_the_built_in_engines_are_plugins_of_this_package() -> None:
    found = {info.name: info for info in list_engines()}
    assert found.keys() >= BUILT_IN
    for name in BUILT_IN:
        assert found[name].package == "skynet-optimizer"
        assert found[name].problem is None
        assert found[name].description
        assert found[name].options


def test_a_plugin_is_listed_with_its_package_version_and_options(scripted: type[Scripted]) -> None:
    (info,) = [info for info in list_engines() if info.name == "scripted"]
    assert (info.package, info.version) == ("scripted-engine", "1.5")
    assert info.description == "Puts forward what it is told; `script`, when a test sets it, does the search instead."
    assert info.options["labels"] == "bool, default False"
    assert set(info.to_json()) == {"name", "package", "version", "description", "options", "problem"}


def test_each_load_makes_a_new_engine(scripted: type[Scripted]) -> None:
    one, two = load_engine("scripted"), load_engine("scripted")
    assert isinstance(one, Scripted)
    assert one is not two


def test_an_unknown_name_is_refused_with_the_nearest_and_all_known() -> None:
    with pytest.raises(EngineError, match=r"no engine 'gepae'.*Did you mean 'gepa'\?.*best_of_n"):
        load_engine("gepae")


def test_a_plugin_that_does_not_load_is_named_and_listed_with_its_problem(tmp_path: Path) -> None:
    with installed(tmp_path):
        points = tmp_path / "scripted_engine-1.5.dist-info" / "entry_points.txt"
        points.write_text("[skynet.engines]\nbroken = tests.runs.no_such_module:Engine\n", encoding="ascii")
        engines._registered.cache_clear()
        with pytest.raises(EngineError, match=r"'broken' of scripted-engine does not load: ModuleNotFoundError"):
            load_engine("broken")
        (info,) = [info for info in list_engines() if info.name == "broken"]
    assert info.problem is not None
    assert "does not load" in info.problem


def test_options_are_checked_by_the_engines_own_model(scripted: type[Scripted]) -> None:
    options = engine_options(Scripted(), EngineSpec(name="scripted", labels=True, options={"texts": ["a"]}))
    assert options == ScriptedOptions(labels=True, texts=("a",))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("gepa", {"max_proposal": 3}, r"\[engine\] max_proposal: .*no such option.*Did you mean 'max_proposals'"),
        ("gepa", {"max_proposals": 0}, r"\[engine\] max_proposals: .*greater than or equal to 1; it got 0"),
        ("best_of_n", {"temperature": "hot"}, r"\[engine\] temperature: .*number.*it got 'hot'"),
        ("demos", {"min_demos": 5, "max_demos": 2}, r"min_demos \(5\) is above max_demos \(2\)"),
    ],
)
def test_a_wrong_option_names_its_value_and_what_would_be_right(
    name: str, options: dict[str, object], message: str
) -> None:
    with pytest.raises(EngineError, match=message):
        engine_options(load_engine(name), EngineSpec(name=name, options=options))


def test_labels_for_an_engine_without_a_use_for_them_are_refused() -> None:
    with pytest.raises(EngineError, match="'gepa' does not use labels"):
        engine_options(load_engine("gepa"), EngineSpec(name="gepa", labels=True))


def test_an_optimizer_is_an_option_like_any_other() -> None:
    with pytest.raises(EngineError, match=r"\[engine\] optimizer: the engine 'gepa' has no such option"):
        engine_options(load_engine("gepa"), EngineSpec(name="gepa", optimizer="miprov2"))


def test_a_name_that_nobody_registered_has_no_package() -> None:
    assert package_of("nobody") == {"package": "?", "version": "?"}
