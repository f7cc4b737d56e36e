"""For tests of stacks: the synthesised JSON, assertions on hosts and agents, native deployment.

`pip install opsconsole[cdktf,testing]` brings what `deploy` needs, and a plugin for pytest with
the fixture `opsconsole_emulator`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import cdktf

if TYPE_CHECKING:
    from opsconsole.testing.deployment import Console, Deployment

_HOST = "opsconsole_host"
_AGENT = "opsconsole_agent"
_ATTACHMENT = "opsconsole_agent_plugin"
_REFERENCE = re.compile(r"\$\{((?:data\.)?[\w-]+\.[\w-]+)\.id\}")


def synthesised(stack: cdktf.TerraformStack) -> dict[str, Any]:
    """Return the synthesised JSON of `stack`, without the framework's own notes.

    Aspects and validations run, as in `app.synth()`.
    """
    program = _plain(json.loads(cdktf.Testing.synth(stack, True)))
    assert isinstance(program, dict)
    return program


def snapshot(stack: cdktf.TerraformStack) -> str:
    """Return the synthesised JSON of `stack` as text that is the same on every machine.

    Keys are sorted; paths of files, versions of the framework and the backend are left out.
    """
    program = synthesised(stack)
    program.get("terraform", {}).pop("backend", None)
    return json.dumps(program, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def deploy(stack: cdktf.TerraformStack, console: Console) -> Deployment:
    """Deploy `stack` on `console` with the native engine, in this process.

    Args:
        stack: The stack to deploy.
        console: A console, such as the fixture `opsconsole_emulator`.

    Returns:
        The deployment: `plan()` returns the actions of another apply, `state` the resources.

    Raises:
        DeploymentError: The apply failed; an AssertionError with the whole output.
    """
    # Assertions alone do not need the extra `testing`.
    from opsconsole.testing.deployment import Deployment

    return Deployment(synthesised(stack), console).apply()


def assert_host(stack: cdktf.TerraformStack, name: str) -> HostAssertion:
    """Return assertions about one host of `stack`.

    Args:
        stack: Where the host is declared.
        name: The host's declared `name`, or the name in its address.
    """
    program = synthesised(stack)
    return HostAssertion(program, _find(program, _HOST, name))


class HostAssertion:
    """Assertions about one host; each returns this, so that they can be chained."""

    def __init__(self, program: Mapping[str, Any], address: str) -> None:
        self._program = program
        self._address = address

    @property
    def _values(self) -> Mapping[str, Any]:
        return _block(self._program, self._address)

    def has(self, **values: Any) -> HostAssertion:
        """Assert that the host declares exactly these values of these attributes."""
        for name, value in values.items():
            declared = self._values.get(name)
            assert declared == value, f"{self._address}: {name} is {declared!r}, not {value!r}"
        return self

    def has_tags(self, *tags: str) -> HostAssertion:
        """Assert that the host declares each of `tags`; it may declare others too."""
        declared = self._values.get("tags") or []
        missing = [tag for tag in tags if tag not in declared]
        assert not missing, f"{self._address}: {missing} is not among its tags {declared}"
        return self

    def is_behind(self, *names: str) -> HostAssertion:
        """Assert that the host is reached through exactly these hosts, in this order."""
        jumps = [_target(value) for value in self._values.get("jump_host_ids") or []]
        wanted = [_find(self._program, _HOST, name) for name in names]
        assert jumps == wanted, f"{self._address} is behind {jumps}, not behind {wanted}"
        return self

    def carries(self, *specialties: str) -> HostAssertion:
        """Assert that the host's agents carry these specialties among others: keys or ids."""
        carried = {
            name for agent in self._agents().values() for name in self._names(agent["specialty_id"])
        }
        missing = [name for name in specialties if name not in carried]
        assert not missing, f"{self._address}: no agent of {sorted(carried)} carries {missing}"
        return self

    def has_plugins(self, *plugins: str) -> HostAssertion:
        """Assert that the host's agents have these plugins among others, however attached."""
        agents = self._agents()
        attached = {name for agent in agents.values() for name in agent.get("plugin_ids") or []}
        for attachment in self._program.get("resource", {}).get(_ATTACHMENT, {}).values():
            if _target(attachment["agent_id"]) in agents:
                attached.add(attachment["plugin_id"])
        missing = [name for name in plugins if name not in attached]
        assert not missing, (
            f"{self._address}: {missing} is not among its plugins {sorted(attached)}"
        )
        return self

    def _agents(self) -> dict[str, Mapping[str, Any]]:
        every = self._program.get("resource", {}).get(_AGENT, {})
        return {
            f"{_AGENT}.{name}": agent
            for name, agent in every.items()
            if _target(agent.get("host_id")) == self._address
        }

    def _names(self, specialty_id: str) -> tuple[str, ...]:
        target = _target(specialty_id)
        declared = _block(self._program, target) if target != specialty_id else {}
        return tuple(filter(None, (specialty_id, declared.get("key"), declared.get("id"))))


def _find(program: Mapping[str, Any], type_name: str, name: str) -> str:
    every: Mapping[str, Any] = program.get("resource", {}).get(type_name, {})
    names = [key for key, block in every.items() if name in (key, block.get("name"))]
    assert names, f"there is no {type_name} {name!r}: {sorted(every)}"
    assert len(names) == 1, f"several {type_name} are called {name!r}: {sorted(names)}"
    return f"{type_name}.{names[0]}"


def _block(program: Mapping[str, Any], address: str) -> Mapping[str, Any]:
    kind = "data" if address.startswith("data.") else "resource"
    type_name, _, name = address.removeprefix("data.").partition(".")
    block: Mapping[str, Any] = program.get(kind, {}).get(type_name, {}).get(name, {})
    return block


def _target(value: Any) -> str:
    """Return the address that a reference to an id names, or the text itself."""
    match = _REFERENCE.fullmatch(str(value))
    return match[1] if match else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key != "//"}
    return [_plain(item) for item in value] if isinstance(value, list) else value
