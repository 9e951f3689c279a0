"""`skynet models list` and `test`: which models there are, what they cost, and whether they answer."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from skynet.cli.ending import FAILED
from skynet.cli.options import require_folder
from skynet.cli.show import print_json, print_table
from skynet.errors import SkynetError

if TYPE_CHECKING:
    from skynet.models.ledger import Role
    from skynet.spec import ModelSpec, Spec

_REQUEST = [{"role": "user", "content": "Reply with the word ok."}]
_MAX_TOKENS = 16
_ATTEMPTS = 2
_TIMEOUT = 60.0
_ROLES: tuple[Role, ...] = ("task", "reflection", "metric")


@dataclass(frozen=True, slots=True)
class ListedModel:
    """One model with the roles that it has in the project; `pulled` is None for models that are not embedded."""

    spec: ModelSpec
    roles: tuple[Role, ...]
    pulled: bool | None

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are known without calling the model; `reachable` is null."""
        from skynet.models.prices import price_of

        price = price_of(self.spec)
        return {
            "name": self.spec.name,
            "roles": list(self.roles),
            "base_url": self.spec.base_url,
            "price": None if price is None else {"input": price.input, "output": price.output},
            "pulled": self.pulled,
            "reachable": None,
        }


def run_list_command(directory: Path, as_json: bool) -> int:
    """Print the embedded models and those of the project, where `directory` holds one."""
    models = models_of(spec_of(directory), embedded=True)
    if as_json:
        print_json([model.to_json() for model in models])
    else:
        print_table(("model", "role", "$ per M in / out", "where"), map(_list_row, models))
        print("Whether they answer: skynet models test")
    return 0


def run_test_command(directory: Path, as_json: bool) -> int:
    """Call each model once; return 1 when one did not answer. Without a project the pulled models are called."""
    spec = spec_of(directory)
    models = models_of(spec, embedded=spec is None)
    if not models:
        raise SkynetError("the project names no model under [models]; name one, such as task = 'local/smollm2-135m'")
    results = []
    for model in models:
        results.append(call_model(model, directory if spec is None else spec.root))
        if not as_json:
            _print_result(results[-1])
    if as_json:
        print_json(results)
    return 0 if all(result["reachable"] for result in results) else FAILED


def spec_of(directory: Path) -> Spec | None:
    """Return the spec in the folder, None where there is none. One with [eval] may do without artifact and target.

    Raises SkynetError where there is no such folder.
    """
    from skynet.spec import SPEC_NAME, load_spec
    from skynet.spec.jobs import NOT_NEEDED

    require_folder(directory)
    if not (directory.is_file() or (directory / SPEC_NAME).is_file()):
        return None
    spec = load_spec(directory, code=NOT_NEEDED)
    return load_spec(directory) if spec.eval is None else spec


def models_of(spec: Spec | None, *, embedded: bool) -> list[ListedModel]:
    """Return the project's models, each once with all its roles, then the embedded ones that have none."""
    from skynet.models.prices import LOCAL_PREFIX
    from skynet.models.pull import EMBEDDED, is_pulled
    from skynet.spec import ModelSpec

    named: dict[str, tuple[ModelSpec, list[Role]]] = {}
    for role in _ROLES if spec is not None else ():
        model = _of_role(spec, role)
        if model is not None:
            named.setdefault(repr(model), (model, []))[1].append(role)
    if embedded:
        known = {model.name for model, _ in named.values()}
        for name in EMBEDDED:
            if LOCAL_PREFIX + name not in known:
                named[name] = (ModelSpec(name=LOCAL_PREFIX + name), [])
    pulled = {LOCAL_PREFIX + name: is_pulled(model, os.environ) for name, model in EMBEDDED.items()}
    return [ListedModel(model, tuple(roles), pulled.get(model.name)) for model, roles in named.values()]


def dearest_call(model: ListedModel) -> float | None:
    """Return the most dollars that one `call_model` can cost, None when no price is known."""
    from skynet.models.calls import CallOptions, Scope, build_request, upper_bound
    from skynet.models.prices import price_of

    request = build_request(model.spec, _REQUEST, CallOptions(max_tokens=_MAX_TOKENS), _TIMEOUT)
    price = price_of(model.spec)
    return None if price is None else upper_bound("task", request, price, Scope()).usd


def _of_role(spec: Spec | None, role: Role) -> ModelSpec | None:
    if spec is None:
        return None
    found: ModelSpec | None = getattr(spec.models, role)
    return spec.models.reflection if role == "metric" and found is None else found


def call_model(model: ListedModel, root: Path) -> dict[str, Any]:
    """Call the model once, through a gateway of its own, in the role under which the project names it."""
    from skynet.models.gateway import Gateway
    from skynet.models.ledger import Ledger
    from skynet.models.retry import RetryPolicy
    from skynet.spec import ModelsSpec

    role = model.roles[0] if model.roles else "task"
    gateway = Gateway(
        ModelsSpec(**{role: model.spec}),
        root,
        ledger=Ledger(),
        environ=os.environ,
        retry=RetryPolicy(attempts=_ATTEMPTS, longest_wait=5.0, longest_asked=5.0),
        timeout=_TIMEOUT,
    )
    result = model.to_json()
    try:
        reply = gateway.complete(role, _REQUEST, max_tokens=_MAX_TOKENS)
    except SkynetError as error:
        return result | _outcome(error=str(error))
    finally:
        gateway.close()
    return result | _outcome(reply=reply.text, latency_ms=reply.latency_ms, cost_usd=reply.cost_usd)


def _outcome(
    *,
    reply: str | None = None,
    latency_ms: float | None = None,
    cost_usd: float | None = None,
    error: str | None = None,
) -> dict[str, Any]:
    return {
        "reachable": error is None, "latency_ms": latency_ms, "cost_usd": cost_usd, "reply": reply, "error": error,
    }  # fmt: skip


def _list_row(model: ListedModel) -> tuple[str, ...]:
    shown = model.to_json()
    price = shown["price"]
    where = shown["base_url"] or {None: "-", True: "on this machine", False: "not pulled yet"}[model.pulled]
    cost = "unknown" if price is None else f"{price['input']:g} / {price['output']:g}"
    return (model.spec.name, ", ".join(model.roles) or "-", cost, where)


def _print_result(result: dict[str, Any]) -> None:
    from skynet.evaluation.display import printable
    from skynet.runs.report.show import dollars, milliseconds, one_line

    roles = f" ({', '.join(result['roles'])})" if result["roles"] else ""
    if result["error"] is not None:
        print(printable(f"FAIL  {result['name']}{roles}: {result['error']}"))
        return
    cost = "cost unknown" if result["cost_usd"] is None else dollars(result["cost_usd"])
    said = one_line(result["reply"], 60) or "(an empty reply)"
    print(printable(f"ok    {result['name']}{roles}: {milliseconds(result['latency_ms'])}, {cost}, replied: {said}"))
    sys.stdout.flush()
