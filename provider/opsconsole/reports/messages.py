"""Terraform's machine-readable UI messages, one function for each; one dict is one line of `-json`.

An event of a resource is first a `Hook`: people read its text, programs its message. See
https://developer.hashicorp.com/terraform/internals/machine-readable-ui.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from opsconsole import __version__
from opsconsole.clock import timestamp
from opsconsole.diagnostics import Diagnostic
from opsconsole.local_terraform import TERRAFORM_VERSION
from opsconsole.reconcile.plan import Action, Change, ChangeCounts, Drift, OutputChange
from opsconsole.reports.json_values import diagnostic_json, without_empty
from opsconsole.reports.plan_json import imported_id
from opsconsole.reports.plan_parts import apply_summary, count_sentence, parse_address
from opsconsole.state import StateOutput
from opsconsole.text import printable

UI_VERSION: Final = "1.2"
Message = dict[str, Any]

# Terraform's messages have no word for adopting, which takes an object into state like an import.
_WORDS = {action: action.value for action in Action} | {
    Action.NO_OP: "noop",
    Action.ADOPT: "import",
    Action.FORGET: "remove",
}
_REASONS = {
    "replace_because_cannot_update": "cannot_update",
    "replace_because_tainted": "tainted",
    "replace_by_request": "requested",
    "replace_by_triggers": "replace_triggered_by",
}
_DOING = {
    Action.CREATE: ("Creating", "Creation"),
    Action.ADOPT: ("Adopting", "Adoption"),
    Action.READ: ("Refreshing", "Refresh"),
    Action.UPDATE: ("Modifying", "Modifications"),
    Action.REPLACE: ("Replacing", "Replacement"),
    Action.DELETE: ("Destroying", "Destruction"),
    Action.FORGET: ("Removing", "Removal"),
    Action.NO_OP: ("Importing", "Import"),
}


def line(message: Message, at: datetime) -> str:
    """Return one message of the time `at` as a line of JSON, including the line end."""
    stamped = message | {"@timestamp": timestamp(at, "microseconds")}
    return json.dumps(stamped, separators=(",", ":")) + "\n"


def version() -> Message:
    """Return the first message of a stream, with the versions of the format and its writer."""
    return _message(
        "version",
        f"opsconsole {__version__}",
        terraform=TERRAFORM_VERSION,
        opsconsole=__version__,
        ui=UI_VERSION,
    )


def log(text: str) -> Message:
    return _message("log", printable(text))


def init_output(text: str, code: str) -> Message:
    """Return the message of a sentence of `init`; `code` is Terraform's name for it, or empty."""
    named = {"message_code": code} if code else {}
    return _message("init_output", printable(text.strip()), **named)


def diagnostic(item: Diagnostic) -> Message:
    """Return the message of a diagnostic; `cause` holds the console's answer."""
    word = "Error" if item.is_error else "Warning"
    level = "error" if item.is_error else "warn"
    body = diagnostic_json(item)
    return _message("diagnostic", f"{word}: {item.summary}", level=level, diagnostic=body)


def resource_drift(drift: Drift) -> Message:
    """Return the message of a difference that refreshing found."""
    word = "delete" if drift.after is None else "update"
    change = _change_of(drift) | {"action": word}
    return _message("resource_drift", f"{drift.address}: Drift detected ({word})", change=change)


def planned_change(change: Change) -> Message:
    """Return the message of the plan for one resource instance."""
    word = _WORDS[change.action]
    if change.action is Action.NO_OP and (change.previous_address or change.import_id):
        word = "move" if change.previous_address else "import"
    body = _change_of(change) | without_empty(
        {
            "action": word,
            "reason": _REASONS.get(change.reason, change.reason),
            "importing": without_empty({"id": imported_id(change)}),
        }
    )
    return _message("planned_change", f"{change.address}: Plan to {word}", change=body)


def _change_of(item: Change | Drift) -> dict[str, Any]:
    previous = item.previous_address and resource(item.previous_address, item.type_name)
    return {"resource": resource(item.address, item.type_name)} | without_empty(
        {"previous_resource": previous}
    )


def change_summary(counts: ChangeCounts, command: str) -> Message:
    """Return the message of the counts; `command` is `plan`, `apply` or `destroy`."""
    text = count_sentence(counts) if command == "plan" else apply_summary(counts, command)
    changes = {
        "add": counts.add,
        "change": counts.change,
        "import": counts.imported + counts.adopt,
        "remove": counts.destroy,
        "operation": command,
    }
    return _message("change_summary", text, changes=changes)


def planned_outputs(outputs: Iterable[OutputChange]) -> Message:
    """Return the message of planned changes to outputs, without values."""
    entries = {
        output.name: {"sensitive": output.sensitive, "action": _WORDS[output.action]}
        for output in outputs
    }
    return _message("outputs", f"Outputs: {len(entries)}", outputs=entries)


def outputs(values: Mapping[str, StateOutput]) -> Message:
    """Return the message of the outputs after an apply; sensitive values are left out."""
    entries: dict[str, Any] = {}
    for name, item in values.items():
        entries[name] = {"sensitive": item.sensitive, "type": item.type}
        if not item.sensitive:
            entries[name]["value"] = item.value
    return _message("outputs", f"Outputs: {len(entries)}", outputs=entries)


class Hook(NamedTuple):
    """An event of one resource during an apply.

    Attributes:
        kind: The type of its message.
        text: Its sentence.
        id: The console's id of the object, if known.
    """

    kind: str
    text: str
    address: str
    action: Action
    id: str = ""
    seconds: float | None = None

    def message(self) -> Message:
        members = {
            "resource": resource(self.address),
            "action": _WORDS[self.action],
            "id_key": self.id and "id",
            "id_value": self.id,
            "elapsed_seconds": None if self.seconds is None else round(self.seconds),
        }
        return _message(self.kind, self.text, hook=without_empty(members))


def apply_start(address: str, action: Action, id: str) -> Hook:
    """Return the start of a change; `id` is the console's id of the object.

    A replacement is shown as its delete and its create, as in Terraform.
    """
    text = f"{address}: {_DOING[action][0]}...{_id_text(id)}"
    return Hook("apply_start", text, address, action, id)


def apply_progress(address: str, action: Action, seconds: float) -> Hook:
    doing = _DOING[action][0].lower()
    text = f"{address}: Still {doing}... [{duration(seconds)} elapsed]"
    return Hook("apply_progress", text, address, action, seconds=seconds)


def apply_complete(address: str, action: Action, seconds: float, id: str) -> Hook:
    """Return the end of a change; `id` is the console's id of the object."""
    text = f"{address}: {_DOING[action][1]} complete after {duration(seconds)}{_id_text(id)}"
    return Hook("apply_complete", text, address, action, id, seconds)


def apply_errored(address: str, action: Action, seconds: float) -> Hook:
    """Return the failure of a change; the reason follows as a diagnostic."""
    text = f"{address}: {_DOING[action][1]} errored after {duration(seconds)}"
    return Hook("apply_errored", text, address, action, seconds=seconds)


def resource(address: str, type_name: str = "") -> dict[str, Any]:
    place = parse_address(address, type_name)
    local = address.removeprefix(f"{place.module}.") if place.module else address
    return {
        "addr": address,
        "module": place.module,
        "resource": local,
        "implied_provider": place.type.partition("_")[0],
        "resource_type": place.type,
        "resource_name": place.name,
        "resource_key": place.key,
    }


def duration(seconds: float) -> str:
    """Return whole seconds as `42s`, `1m10s` or `2h0m3s`."""
    total = round(seconds)
    minutes, rest = divmod(total, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"


def _id_text(value: str) -> str:
    return f" [id={printable(value)}]" if value else ""


def _message(kind: str, text: str, level: str = "info", **members: Any) -> Message:
    return {
        "@level": level,
        "@message": text,
        "@module": "terraform.ui",
        # The place of the time among the members, as in Terraform.
        "@timestamp": "",
        **members,
        "type": kind,
    }
