"""Fuzz targets: each feeds one reader of foreign bytes, and says which errors it may raise.

Every other error is a finding. The bytes are mutations of valid inputs: of the bytes themselves,
and where they are JSON, of their values.
"""

import json
import random
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgpack
from google.protobuf.message import DecodeError
from hypothesis import strategies as st
from msgspec import Raw

from opsconsole import resources
from opsconsole.cli import host_rows
from opsconsole.drift.baseline import apply_baseline, read_baseline
from opsconsole.errors import OpsconsoleError
from opsconsole.language import Evaluator, Program, check_support, load_directory
from opsconsole.language.functions import FUNCTIONS
from opsconsole.language.name_resolver import evaluate_argument
from opsconsole.reconcile.plan import Action, Change, Drift, OutputChange, Plan
from opsconsole.reconcile.prior import read_prior
from opsconsole.reconcile.saved_plan import SavedPlan, read_plan, write_plan
from opsconsole.reports import plan_json, plan_text
from opsconsole.resources import DATA_SOURCES, HOST, PROVIDER, RESOURCES
from opsconsole.state import InstanceObject, Intent, State, StateOutput, encode
from opsconsole.state.folding import fold_journals
from opsconsole.state.journal import (
    StartingState,
    StateChanges,
    StateWrite,
    decode_lines,
    encode_line,
    open_intents,
)
from opsconsole.state.objects import StateChange
from opsconsole.terraform.codec import CodecError, ObjectCodec
from opsconsole.terraform.proto import tfplugin6_pb2 as pb
from opsconsole.v1.answers import Reply, WrongShape, decode_object
from opsconsole.v1.bodies import DeleteResult, ImportResult, ListEnvelope
from opsconsole.v1.console import check_resource
from program_forms import ACCEPTED, REFUSED, evaluate_all

_FOLDER = Path(tempfile.mkdtemp(prefix="opsconsole-fuzz-"))
_HOST = {**HOST.empty(), "id": "hst_1", "name": "a", "tags": ["a:b"], "target_port": 22}


@contextmanager
def _refused_by(*errors: type[Exception]) -> Iterator[None]:
    """Let a reader raise the errors that it documents; they can be printed."""
    try:
        yield
    except errors as error:
        str(error)


def read_answer(data: bytes) -> None:
    """Read `data` as the body of an answer; its length chooses the status."""
    statuses = (200, 201, 400, 404, 409, 418, 500)
    reply = Reply(statuses[len(data) % len(statuses)], {"content-type": "application/json"}, data)
    with _refused_by(OpsconsoleError):
        answer = decode_object(reply, "GET /x", lambda content: content)
        for read in (ListEnvelope.read, ImportResult.read, DeleteResult.read, check_resource):
            with _refused_by(WrongShape):
                read(answer)


_ANSWERS = [
    {"data": [{"id": "hst_1", "name": "a"}], "has_more": False, "total_count": 1},
    {"id": "agt_1", "plugin_ids": ["p"], "host_id": "hst_1"},
    {
        "dry_run": True,
        "counts": {"created": 1, "skipped": 0, "failed": 0},
        "results": [{"index": 0, "status": "created", "id": "hst_1", "name": "a"}],
    },
    {"code": "bad", "message": "no", "field": "name", "errors": [{"field": "a", "message": "b"}]},
]


def accept_drift(data: bytes) -> None:
    """Read `data` as a baseline of accepted drift, and apply it to no drift."""
    file = _FOLDER / "baseline.yml"
    file.write_bytes(data)
    with _refused_by(OpsconsoleError):
        apply_baseline(read_baseline(file), [], date(2026, 1, 1))


_BASELINES = [
    b"version: 1\naccept:\n- address: opsconsole_host.a\n  reason: known\n  expires: 2026-12-31\n",
    b'{"version": 1, "accept": [{"address": "a", "reason": "b", "bucket": "missing"}]}',
    b"version: 1\nx: &a [1]\naccept: [{address: '*', attribute: name, reason: |\n  text\n}]\n",
]

_DEFINITIONS = [*RESOURCES.values(), *DATA_SOURCES.values(), PROVIDER]
_CODECS = [ObjectCodec(definition.attributes) for definition in _DEFINITIONS]
_MESSAGES = (
    pb.PlanResourceChange.Request,
    pb.ApplyResourceChange.Request,
    pb.ReadResource.Request,
    pb.ConfigureProvider.Request,
)


def decode_values(data: bytes) -> None:
    """Read `data` as a value of every kind, and as messages of the plugin that hold values."""
    for codec in _CODECS:
        for value in (pb.DynamicValue(msgpack=data), pb.DynamicValue(json=data)):
            with _refused_by(CodecError):
                codec.encode(codec.decode(value))
        with _refused_by(CodecError):
            codec.decode_state(data)
    for message in _MESSAGES:
        with _refused_by(DecodeError):
            found = message.FromString(data)
            for field in ("config", "prior_state", "proposed_new_state", "current_state"):
                if hasattr(found, field):
                    with _refused_by(CodecError):
                        _CODECS[0].decode(getattr(found, field))


_VALUES = [
    msgpack.packb(_HOST),
    json.dumps(_HOST).encode(),
    pb.PlanResourceChange.Request(
        type_name="opsconsole_host", config=pb.DynamicValue(msgpack=msgpack.packb(_HOST))
    ).SerializeToString(),
]


def read_rows(data: bytes) -> None:
    """Read `data` as a file of hosts to import, in CSV and in JSON."""
    for name in ("x.csv", "x.json"):
        file = _FOLDER / name
        file.write_bytes(data)
        with _refused_by(OpsconsoleError):
            host_rows.read_rows(file)


_ROWS = [
    b'name,public_ip\na,10.0.0.1\n"b\nc",10.0.0.2\n',
    b"x;y\n1;2\n",
    b'{"rows": [{"name": "a", "tags": ["a:b"]}]}',
    b'[{"name": "a"}]',
]

_LOCALS = Program(
    root=Path("/nonexistent"),
    locals={"n": 2, "s": "text é", "l": ["x", "y"], "m": {"a": 1, "b": "z"}, "t": True, "z": None},
)


def evaluate_template(data: bytes) -> None:
    """Evaluate `data` as a template, with a few local values around it."""
    text = data.decode("utf-8", "replace")
    # A file that an expression names is not what is tried here, and may be a device.
    if "file" in text and "/" in text:
        return
    scope = Evaluator(_LOCALS, {}, lambda address: None, applying=True).scope()
    with _refused_by(OpsconsoleError):
        evaluate_argument("fuzz", "value", text, scope)


_TEMPLATES = [
    f"${{{name}({arguments})}}".encode()
    for name in FUNCTIONS
    for arguments in ("", "local.s", "local.s, local.n", "local.l", "local.m", '"a", local.l, 2')
] + [
    b"a${local.s}b%{ if local.t }x%{ else ~} y %{ endif }%{ for k, v in local.m }${k}%{ endfor }",
    b"${[for k, v in local.m : upper(k) if v != 1]}",
    b"${{for v in local.l : v => length(v)...}}",
    b'${local.l[*]}${local.m["a"]}${local.l[0]}',
    b'${(1 + 2 * -3) / 4 % 5 == 0 && !true || 1 < 2 ? 1e3 : "a\\u00e9"}',
    b'${regexall("(?P<a>x)|y*", replace(local.s, "/t(e)/", "$1"))}',
    b'${format("%5.2f %-8s %q %v %#v %03d", 1.5, "a", "b", local.m, local.l, 7)}',
    b'${cidrsubnet("10.0.0.0/8", 8, 2)} ${formatdate("YYYY-MM-DD", "2020-01-02T03:04:05Z")}',
    b'${jsondecode("{\\"a\\": [1, 2.50, null]}").a[1]} ${csvdecode("a,b\\n1,2")[0].a}',
]


def _state() -> State:
    state = State.new("4a1f")
    held = InstanceObject('provider["registry.terraform.io/opsconsole/opsconsole"]', _HOST)
    state.put("opsconsole_host.a", held)
    state.put('opsconsole_host.b["k"]', held)
    state.put("data.opsconsole_specialty.s", held)
    state.depose("opsconsole_host.a")
    state.set_output("o", StateOutput([1, "é"], ["tuple", ["number", "string"]], True))
    return state


def edit_state(data: bytes) -> None:
    """Read `data` as a state, and edit and write every object and output of it."""
    with _refused_by(OpsconsoleError):
        state = State.parse(data, "fuzz")
        for address, deposed in state.objects():
            held = state.get(address, deposed)
            if held is not None and not deposed:
                state.put(address, held)
        str(state.outputs)
        state.digest()
        State.parse(state.to_bytes(), "again")
        read_prior(state)


_STORED = _state().to_bytes()
_STATES = [_STORED, json.dumps(json.loads(_STORED)).encode(), State.new("l").to_bytes()]


def fold_bytes(data: bytes) -> None:
    """Read `data` as the texts of a journal's records, one a line, and as a journal as it is."""
    framed = bytearray()
    for line in data.split(b"\n"):
        framed += encode_line(Raw(line), len(framed))
    for content in (data, bytes(framed)):
        with _refused_by(OpsconsoleError):
            records, _ = decode_lines(content, "fuzz")
            open_intents(records)
            state = State.parse(_STORED)
            if records:
                state = fold_journals(records, [], _STORED, b"", "fuzz").state
            State.parse(state.to_bytes())


def _journals() -> list[bytes]:
    state = State.parse(_STORED)
    object_json = state.object_json('opsconsole_host.b["k"]')
    records = [
        StartingState("run", "4a1f", 0, state.digest(), False),
        Intent("i", "opsconsole_host.a", "POST /x", {"name": "a"}, "now"),
        StateChanges((StateChange("instance", "opsconsole_host.c", object_json, "p"),), ("i",)),
        StateChanges(
            (StateChange("output", "o", '{\n      "value": 1,\n      "type": "number"\n    }'),)
        ),
        StateWrite(1, "x"),
    ]
    whole = b"\n".join(map(encode, records))
    damaged = whole.replace(b'hst_1\\"', b'hst_1\\"damaged')
    return [whole, damaged.replace(state.digest().encode(), b"of another state")]


def show_plan(data: bytes) -> None:
    """Read `data` as what a plan file holds packed, and as such a file itself; show the plan."""
    file = _FOLDER / "plan"
    for content in (zlib.compress(data, 1), data):
        file.write_bytes(b"opsconsole plan 3\n" + content)
        with _refused_by(OpsconsoleError):
            plan = read_plan(file).plan
            plan_text.render(plan)
            json.dumps(plan_json.document(plan))


def _plans() -> list[bytes]:
    host, file = "opsconsole_host", _FOLDER / "plan"
    plan = Plan(
        changes=(
            Change(f"{host}.a", host, Action.UPDATE, _HOST, {**_HOST, "name": "b"}),
            Change(f"{host}.b", host, Action.CREATE, None, _HOST, config=_HOST),
        ),
        drift=(Drift(f"{host}.a", host, _HOST, None),),
        outputs=(OutputChange("o", Action.CREATE, None, [1]),),
        planned_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    write_plan(file, SavedPlan(plan, {"cdk.tf.json": "{}"}, "/x", "s", '{"v": 1}', "d"))
    packed = zlib.decompress(file.read_bytes().partition(b"\n")[2])
    return [packed, json.dumps(json.loads(packed)).encode()]


def evaluate_program(data: bytes) -> None:
    """Read `data` as the only file of a program, and evaluate all of it, as a plan does."""
    folder = _FOLDER / "program"
    folder.mkdir(exist_ok=True)
    (folder / "main.tf.json").write_bytes(data)
    with _refused_by(OpsconsoleError):
        program = load_directory(folder, resources)
        check_support(program)
        evaluate_all(program, folder)


_PROGRAMS = [
    text.encode("utf-8", "replace")
    for program in (*ACCEPTED.values(), *REFUSED.values())
    for text in program.values()
    if len(text) < 3000
]


class Target(NamedTuple):
    """A reader, and inputs that are valid or almost so."""

    check: Callable[[bytes], None]
    seeds: Sequence[bytes]

    def inputs(self) -> st.SearchStrategy[bytes]:
        """Return the seeds, mutations of them, and any bytes."""
        seeds = st.sampled_from(self.seeds)
        return seeds | st.builds(mutated, seeds, st.randoms()) | st.binary(max_size=300)


TARGETS = {
    "answers": Target(read_answer, [json.dumps(answer).encode() for answer in _ANSWERS]),
    "baselines": Target(accept_drift, _BASELINES),
    "codec": Target(decode_values, _VALUES),
    "csv_rows": Target(read_rows, _ROWS),
    "expressions": Target(evaluate_template, _TEMPLATES),
    "journals": Target(fold_bytes, _journals()),
    "plans": Target(show_plan, _plans()),
    "programs": Target(evaluate_program, _PROGRAMS),
    "states": Target(edit_state, _STATES),
}


ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 5, 1e300, 10**30, 1.5, "", "x", "..", "../x y", "\x00", "\ud800",
    "é\u202e\x1b[31m", "x" * 3000, [], {}, [[]], [None], {"": None}, {"a": {"b": []}},
    "${", "${1", "${local.a}", "%{ if true }", "hst_1", "opsconsole_host.a", '"', "\n",
)  # fmt: skip
_DEEP = "nested deeply"
_BYTES = (*(bytes([code]) for code in b'\x00\xff"{}[],\n\\-'), b"9" * 400, b"${")


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Return `data` with a few changes, chosen at random."""
    if chance.random() < 0.7:
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            pass
        else:
            for _ in range(chance.randint(1, 3)):
                document = _changed(document, chance)
            text = json.dumps(document, indent=2 if chance.random() < 0.5 else None)
            text = text.replace(json.dumps(_DEEP), "[" * 1500 + "]" * 1500)
            return _twice(text, chance).encode("utf-8", "replace")
    for _ in range(chance.randint(1, 4)):
        data = _changed_bytes(data, chance)
    return data


def _changed(value: Any, chance: random.Random) -> Any:
    """Replace, remove, double or wrap one part of a value, chosen at random."""
    if not isinstance(value, list | dict) or not value or chance.random() < 0.1:
        return _odd(value, chance)
    if isinstance(value, dict):
        name = chance.choice(list(value))
        action = chance.random()
        if action < 0.1:
            return {key: item for key, item in value.items() if key != name}
        if action < 0.2:
            return {**value, str(chance.choice(ODD)): value[name]}
        return {**value, name: _changed(value[name], chance)}
    place = chance.randrange(len(value))
    if chance.random() < 0.15:
        return [*value, *value[place:]]
    return [*value[:place], _changed(value[place], chance), *value[place + 1 :]]


def _odd(value: Any, chance: random.Random) -> Any:
    action = chance.random()
    if action < 0.15:
        return [value]
    if action < 0.25:
        return {"a": value}
    if action < 0.28:
        return _DEEP
    if isinstance(value, str) and value and action < 0.6:
        place = chance.randrange(len(value))
        return value[:place] + str(chance.choice(ODD)) + value[place + chance.randint(0, 2) :]
    return chance.choice(ODD)


def _twice(text: str, chance: random.Random) -> str:
    """Now and then write a member of an object twice."""
    if chance.random() < 0.9 or '": ' not in text:
        return text
    return text.replace('": ', '": 1, "a": ', 1)


def _changed_bytes(data: bytes, chance: random.Random) -> bytes:
    place, length = chance.randint(0, len(data)), chance.randint(0, 8)
    action = chance.random()
    if action < 0.25:
        return data[:place] + data[place + length :]
    if action < 0.5:
        return data[:place] + chance.choice(_BYTES) + data[place:]
    if action < 0.7:
        return data[:place] + chance.randbytes(length) + data[place + length :]
    if action < 0.85:
        return data[:place] + data[place : place + 50] * chance.randint(2, 40) + data[place:]
    return data[:place]
