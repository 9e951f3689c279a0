"""What the host believes of a worker, which runs code that may say anything: values and faults of its own call."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from skynet.evaluation.record import Record
from skynet.workers.fault import MESSAGE_CHARS, TRACEBACK_CHARS
from skynet.workers.frames import REPLY_LEVELS
from skynet.workers.pool import WorkerPool
from tests.workers.conftest import Run, setup
from tests.workers.processes import gone_within

# The worker's own end of the frames, as any code in it can find it.
CHANNEL = (
    "import gc, json, struct, time\n"
    "channel = next(item for item in gc.get_objects() if type(item).__name__ == 'Channel')\n"
    "def send(body):\n    channel.send(struct.pack('>I', len(body)) + body)\n"
    "def reply(**fields):\n"
    "    send(json.dumps({'number': channel.open_call, 'left': '', **fields}).encode())\n"
)
REFUSE = "from skynet.workers.fault import Fault, Refused\n"


def is_refused(run: Run, code: str, said: str) -> None:
    """Check that the call fails as bad output, at once, and that the next call is clean."""
    outcome = run(code, ask=lambda request, clock: {"text": "x"})
    assert outcome.kind == "bad_output"
    assert outcome.fault is not None
    assert said in outcome.fault.message
    assert run("out = 'clean'").value == "clean"


@pytest.mark.parametrize("kind", ["provider", "cancelled", "timeout", "died", "skipped", None, [1]])
def test_what_only_the_host_can_know_is_not_taken_from_a_worker(run: Run, kind: Any) -> None:
    is_refused(run, f"{REFUSE}raise Refused(Fault({kind!r}, 'too hard', data={{'permanent': True}}))", "a kind that is")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ("message={'a': 1}", "the message of its fault"),
        ("message='', type=[1]", "the type of its fault"),
        ("message='', traceback=5", "the traceback of its fault"),
        ("message='', file=3", "the file of its fault"),
        ("message='', file='/' * 5000", "the file of its fault"),
        ("message='', line='x'", "the line of its fault"),
        ("message='', line=True", "the line of its fault"),
        ("message='', line=-1", "the line of its fault"),
        ("message='', line=10**400", "the line of its fault"),
    ],
)
def test_a_fault_with_fields_of_a_wrong_type_is_refused(run: Run, fields: str, said: str) -> None:
    is_refused(run, f"{REFUSE}raise Refused(Fault('raised', {fields}))", said)


@pytest.mark.parametrize("data", ["[1]", "{'no_model': 'task', 'permanent': True, 'stage': 'Reward spec'}"])
def test_the_data_of_a_calls_fault_is_not_taken(run: Run, data: str) -> None:
    fault = run(f"{REFUSE}raise Refused(Fault('raised', 'no', data={data}))").fault
    assert fault is not None
    assert (fault.kind, fault.message, fault.data) == ("raised", "no", {})


def test_of_the_data_of_a_file_that_does_not_load_the_stage_is_taken() -> None:
    data = {"stage": "Reward spec", "no_model": "task"}
    with WorkerPool(setup(code=f"{REFUSE}raise Refused(Fault('raised', 'no', data={data!r}))")) as workers:
        fault = workers.load().fault
    assert fault is not None
    assert fault.data == {"stage": "Reward spec"}


def test_long_texts_of_a_fault_are_cut(run: Run) -> None:
    fault = run(f"{REFUSE}raise Refused(Fault('raised', 'm' * 10**6, 't' * 10**6, 'b' * 10**6))").fault
    assert fault is not None
    assert len(fault.message) < MESSAGE_CHARS + 200
    assert len(fault.traceback) < TRACEBACK_CHARS + 200
    assert len(fault.type) == 200


@pytest.mark.parametrize(
    ("forged", "said"),
    [
        ("reply(kind='done', value={'$datetime': []})", "IndexError"),
        ("reply(kind='done', value={'$dict': [[None, 1]]})", "a dict key of type NoneType"),
        ("reply(kind='done', value={'$dict': [[1.5, 1]]})", "a dict key of type float"),
        ("reply(kind='done', value={'$dict': [[[], 1]]})", "a dict key of type list"),
        ("reply(kind='done', value={'$what': 1})", "KeyError"),
        ("reply(kind='done')", "neither a value nor a fault"),
        ("reply(kind='fault')", "no object"),
        ("reply(kind='ok', value=1)", "neither a value nor a fault"),
        ("reply(kind='done', value=1, left=None)", "left behind"),
        ("reply(kind='done', value=1, number=None)", "another order"),
        ("reply(kind='done', value=1, number=channel.open_call - 1)", "another order"),
        ("reply(kind='done', value=1, number={'$decimal': 'sNaN'})", "another order"),
        ("send(b'[1]')", "not an object"),
        ("send(b'[' * 300 + b']' * 300)", "nested too deeply"),
        ("send(b'[' * 90000)", "RecursionError"),
        ("send(b'{\"x\": ' + b'9' * 5000 + b'}')", "limit"),
        ("reply(kind='ask', request=[1])", "no object"),
        ("reply(kind='ask', request={}, number='1')", "without a number"),
    ],
)
def test_what_our_runtime_never_sends_fails_the_call(run: Run, forged: str, said: str) -> None:
    is_refused(run, f"{CHANNEL}{forged}\ntime.sleep(60)", said)


@pytest.mark.parametrize("around", ["[out]", "(out,)", "{'a': out}", "{1: out}"])
def test_the_deepest_value_that_crosses_can_be_handed_on(pool: WorkerPool, around: str) -> None:
    made = f"out = 1\nfor _ in range({REPLY_LEVELS}): out = {around}"
    deepest = pool.call({"code": made}, timeout=20)
    assert deepest.kind == "ok"
    assert pool.call({"code": "out = 2", "output": deepest.value}, timeout=20).value == 2
    assert Record("v", "1", 0, "ok", output=deepest.value).to_json()
    assert pool.call({"code": f"{made}\nout = {around}"}, timeout=20).kind == "bad_output"


def test_a_payload_that_cannot_cross_fails_its_call(pool: WorkerPool) -> None:
    outcome = pool.call({"code": "out = 1", "output": {1, 2}}, timeout=20)
    assert outcome.kind == "bad_output"
    assert "type set at ['output']" in str(outcome.fault)
    assert pool.call({"code": "out = 'clean'"}, timeout=20).value == "clean"


def test_a_reply_sent_before_its_order_answers_nothing(run: Run) -> None:
    forged = "reply(kind='done', value='early', number=channel.open_call + 1)"
    assert run(f"{CHANNEL}{forged}\nout = 'late'").kind == "bad_output"
    assert run("out = 'clean'").value == "clean"


def test_a_worker_that_speaks_between_two_calls_serves_no_other() -> None:
    code = (
        f"{CHANNEL}import os\nout, own = os.getpid(), channel.send\n"
        'more = b\'{"kind": "done", "number": 1, "value": "early", "left": ""}\'\n'
        "channel.send = lambda frame: own(frame + struct.pack('>I', len(more)) + more)"
    )
    with WorkerPool(setup()) as workers:
        spoke = workers.call({"code": code}, timeout=20).value
        assert workers.call({"code": "import os; out = os.getpid()"}, timeout=20).value not in (spoke, "early")


def test_a_worker_that_died_between_two_calls_costs_no_call(run: Run) -> None:
    worker = run("import os; out = os.getpid()").value
    os.kill(worker, signal.SIGKILL)
    assert gone_within(worker, 5)
    assert run("out = 'clean'").value == "clean"
