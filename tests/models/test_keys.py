from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skynet.errors import SkynetError
from skynet.models.keys import Keys, read_env_file


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("K=abc", "abc"),
        ("K = abc ", "abc"),
        ("export K=abc", "abc"),
        ('K="a b # c"', "a b # c"),
        ("K='a b'", "a b"),
        ("K=abc # a comment", "abc"),
        ("K=abc#def", "abc#def"),
        ("K=a=b", "a=b"),
        ("K=", ""),
        ("\ufeffK=abc", "abc"),
        ("K=abc\r", "abc"),
    ],
)
def test_a_line_of_an_env_file_is_read_as_a_shell_would(tmp_path: Path, line: str, value: str) -> None:
    (tmp_path / ".env").write_text(f"{line}\n", encoding="utf-8")
    assert read_env_file(tmp_path / ".env") == {"K": value}


@pytest.mark.parametrize("line", ["# K=abc", "", "just words", "=abc", "2K=abc"])
def test_other_lines_of_an_env_file_are_left_out(tmp_path: Path, line: str) -> None:
    (tmp_path / ".env").write_text(f"{line}\n", encoding="utf-8")
    assert read_env_file(tmp_path / ".env") == {}


def test_an_env_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    (tmp_path / ".env").write_bytes(b"K=\xff\xfe\x00")
    with pytest.raises(SkynetError, match=r"\.env cannot be read.*UTF-8"):
        Keys({}, tmp_path / ".env")


def test_the_environment_wins_over_the_env_file(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("A=file\nB=file\n")
    keys = Keys({"A": "environment"}, tmp_path / ".env")
    assert (keys.find("A"), keys.find("B"), keys.find("C")) == ("environment", "file", None)


def test_a_blank_key_is_no_key(tmp_path: Path) -> None:
    assert Keys({"A": "  "}, tmp_path / ".env").find("A") is None


def test_a_key_in_the_repr_would_be_a_leak(tmp_path: Path) -> None:
    keys = Keys({"A": "secret-value"}, tmp_path / ".env")
    keys.find("A")
    assert "secret-value" not in repr(keys)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("bad key provider-key-1", "bad key [key]"),
        ("twice provider-key-1provider-key-1", "twice [key][key]"),
        ("Authorization: Bearer zzz", "Authorization: Bearer [key]"),
        ("http://me:pw@host/v1", "http://[key]@host/v1"),
        ("sk-abcdefghijklmnopqrst is wrong", "[key] is wrong"),
        ("nothing here", "nothing here"),
    ],
)
def test_keys_are_cut_out_of_texts(tmp_path: Path, text: str, shown: str) -> None:
    assert Keys({"PROVIDER_API_KEY": "provider-key-1"}, tmp_path / ".env").redact(text) == shown


def test_a_used_key_is_cut_out_whatever_its_variable_is_called(tmp_path: Path) -> None:
    keys = Keys({"PLAIN": "abc"}, tmp_path / ".env")
    assert keys.redact("abc") == "abc"
    keys.require("PLAIN", "m")
    assert keys.redact("say abc") == "say [key]"


@given(secret=st.text(st.characters(codec="ascii", exclude_categories=["C", "Z"]), min_size=6), around=st.text())
def test_no_text_keeps_a_key(tmp_path_factory: pytest.TempPathFactory, secret: str, around: str) -> None:
    keys = Keys({"X_KEY": secret}, Path("no-such-file"))
    assert secret not in keys.redact(f"{around} {secret} {around}") or secret in "[key]"
