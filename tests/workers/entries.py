"""Entries for the workers under test: user code that a test hands over as source."""

from __future__ import annotations

from typing import Any

from skynet.workers.runtime import Ask, Loaded


def run_source(config: dict[str, Any]) -> Loaded:
    """Run the call's `code`; its variable `out` is the value. The code of `config` runs at loading."""
    exec(compile(config.get("code", ""), "/user/load.py", "exec"), {})

    def handler(payload: dict[str, Any], ask: Ask) -> Any:
        scope = {"ask": ask}
        exec(compile(payload["code"], "/user/code.py", "exec"), scope)
        return scope.get("out")

    return Loaded(handler, "/user", info={"loaded": True})


def echo(config: dict[str, Any]) -> Loaded:
    """Return what comes in."""
    return Loaded(lambda payload, ask: payload, "/user")


def echo_config(config: dict[str, Any]) -> Loaded:
    """Return what the worker was loaded with."""
    return Loaded(lambda payload, ask: config, "/user")
