"""[child] The program of a local model's process: JSON lines in on stdin, JSON lines out on stdout, one at a time.

Run as a script, so that nothing of Skynet is imported. First line out: {"ready": true} or {"error": words}. Then one
line out for each request: {"text", "tool_calls", "finish_reason", "prompt_tokens", "completion_tokens", "latency_ms"}
or {"error": words}. When stdin closes, which it does when the host dies however it dies, the process ends at once.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import sys
import threading
import time
from typing import Any, TextIO

CONTEXT = 8192  # tokens a request may have, prompt and reply; less where the model was trained on less
SLOTS = 2  # prompt prefixes kept, since start and best are run in turns
MAX_THREADS = 8

# Threads that wait for each other spinning are six times slower as soon as something else wants a core, and the user's
# own workers do. Read by the OpenMP runtime when xllamacpp loads it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")


class LocalModel:
    """A loaded model that answers one request at a time, and the same whatever it was asked before.

    llama.cpp's own prompt cache changes replies: how a token's state was computed depends on what it was batched with.
    So a prefix (all messages but the last) is always computed by itself, and its last token once more by itself. A kept
    prefix is cut back to exactly that state before it is used again; the rest is computed after it, always alike.
    """

    def __init__(self, path: str) -> None:
        import xllamacpp

        params = xllamacpp.CommonParams()
        params.model.path = path
        params.n_parallel = SLOTS
        params.n_ctx = CONTEXT * SLOTS
        params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _threads()
        params.cache_ram_mib = 0  # no store of earlier prompts behind the slots
        params.cache_idle_slots = False
        params.n_ctx_checkpoints = 0
        params.prefill_assistant = False  # a last assistant message is a turn, not the beginning of the reply
        params.api_keys = [secrets.token_hex(32)]  # it opens a port on loopback, which nobody may use
        params.verbosity = 1
        params.warmup = False
        self._server = xllamacpp.Server(params)
        self._kept: dict[str, int] = {}  # prefix -> slot, least recently used first

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer one chat completion request in OpenAI's form (llama.cpp's `grammar` and `json_schema` included)."""
        started = time.perf_counter()
        slot = None if body.get("tools") else self._prefix_slot(body["messages"][:-1])
        place = {"id_slot": self._take_slot() if slot is None else slot, "cache_prompt": slot is not None}
        reply = self._ask({**body, **place, "stream": False})
        if "error" in reply:
            return {"error": reply["error"]["message"]}
        choice, usage = reply["choices"][0], reply["usage"]
        return {
            "text": choice["message"].get("content") or "",
            "tool_calls": choice["message"].get("tool_calls") or [],
            "finish_reason": choice["finish_reason"],
            "prompt_tokens": usage["prompt_tokens"],
            "completion_tokens": usage["completion_tokens"],
            "latency_ms": (time.perf_counter() - started) * 1000,
        }

    def _prefix_slot(self, prefix: list[dict[str, Any]]) -> int | None:
        """Bring a slot to the state just after the prefix. None: there is none, or it cannot stand alone."""
        if not prefix:
            return None
        key = json.dumps(prefix)
        slot = self._kept.pop(key, None)
        if slot is None:
            slot = self._take_slot()
            if not self._read(prefix, slot, keep=False):
                return None
        if not self._read(prefix, slot, keep=True):
            return None
        self._kept[key] = slot
        return slot

    def _take_slot(self) -> int:
        """Return a slot that keeps nothing, giving up the prefix that was used least recently where there is none."""
        free = set(range(SLOTS)) - set(self._kept.values())
        return min(free) if free else self._kept.pop(next(iter(self._kept)))

    def _read(self, prefix: list[dict[str, Any]], slot: int, *, keep: bool) -> bool:
        """Compute the prefix without a reply. A chat template may refuse one that does not end in a user's turn."""
        body = {"messages": prefix, "max_tokens": 0, "add_generation_prompt": False, "temperature": 0}
        return "error" not in self._ask({**body, "cache_prompt": keep, "id_slot": slot})

    def _ask(self, body: dict[str, Any]) -> dict[str, Any]:
        try:
            reply: dict[str, Any] = self._server.handle_chat_completions(body)
        except (ValueError, TypeError, RuntimeError) as error:  # how xllamacpp reports a request that it cannot read
            return {"error": {"message": str(error)}}
        return reply


def _threads() -> int:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MAX_THREADS)


def _read_requests(requests: queue.Queue[str]) -> None:
    for line in sys.stdin:
        requests.put(line)
    os._exit(0)  # the host is gone: no reply will be read, so a generation under way is worth nothing


def _own_stdout() -> TextIO:
    """Keep stdout for the replies: whatever the library prints goes to stderr."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def _send(replies: TextIO, message: dict[str, Any]) -> None:
    replies.write(json.dumps(message) + "\n")
    replies.flush()


def main(path: str) -> None:
    """Load the model and serve until stdin closes."""
    replies = _own_stdout()
    requests: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_requests, args=(requests,), daemon=True).start()
    try:
        model = LocalModel(path)
    except (RuntimeError, ImportError) as error:
        _send(replies, {"error": str(error)})
        os._exit(1)
    _send(replies, {"ready": True})
    while True:
        _send(replies, model.complete(json.loads(requests.get())))


if __name__ == "__main__":
    main(sys.argv[1])
