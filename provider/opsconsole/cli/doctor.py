"""`opsconsole doctor`: finds the problems of this machine, the settings and the console."""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from email.utils import parsedate_to_datetime
from typing import Final, NamedTuple

from opsconsole import __version__
from opsconsole.cli import opening, provider_install
from opsconsole.cli.standard_streams import pen_for
from opsconsole.cli.table import FAILED
from opsconsole.clock import utc_now
from opsconsole.errors import (
    ApiError,
    ConsoleError,
    Forbidden,
    OpsconsoleError,
    UserError,
)
from opsconsole.language import find_node
from opsconsole.lifecycle.answers import values_shown
from opsconsole.lifecycle.session import ConsoleSession
from opsconsole.local_terraform import real_terraform
from opsconsole.resources import HOST
from opsconsole.resources.host.known import (
    HOST_GET_HINT,
    EmptyUpdateRefused,
    HostReader,
    HostsUnreadable,
)
from opsconsole.text import Pen, plural, printable, wrap_lines
from opsconsole.v1.answers import Reply
from opsconsole.v1.client import Client
from opsconsole.v1.console import Console
from opsconsole.v1.operations import OPERATIONS
from opsconsole.v1.settings import Settings

OK: Final = "ok"
NOTE: Final = "note"
WRONG: Final = "wrong"
_SIGNS = {OK: ("✓", "green"), NOTE: ("!", "yellow"), WRONG: ("✗", "red")}
_CLOCK_TOLERANCE = 60
"""Seconds by which the clocks may differ. Locks and certificates depend on the clocks."""
_NAME_HOST_GET: Final = f"A host that cannot be read is unchecked.{HOST_GET_HINT}"


class CheckResult(NamedTuple):
    """The result of one check.

    Attributes:
        status: `ok`, `note` (a run may still succeed) or `wrong`.
        found: The finding, in a line.
        stack: The stack whose settings were checked, if the app has several stacks.
    """

    check: str
    status: str
    found: str
    remedy: str = ""
    stack: str = ""


def run(args: argparse.Namespace) -> int:
    results = []
    pen = pen_for(args)
    for item in _run_checks(args):
        results.append(item)
        if not args.json:
            sys.stdout.write(_render(item, pen))
            sys.stdout.flush()
    wrong = sum(item.status == WRONG for item in results)
    if args.json:
        sys.stdout.write(json.dumps([item._asdict() for item in results], indent=2) + "\n")
    else:
        notes = sum(item.status == NOTE for item in results)
        well = f"Nothing is wrong.{f' Notes: {notes}.' if notes else ''}"
        ill = f"{wrong} of {len(results)} checks found something wrong."
        sys.stdout.write(f"\n{ill if wrong else well}\n")
    return FAILED if wrong else 0


def _render(item: CheckResult, pen: Pen) -> str:
    sign, colour = _SIGNS[item.status]
    check = f"{item.check} ({item.stack})" if item.stack else item.check
    text = f"{pen.paint(sign, colour)} {check:<16} {printable(item.found)}\n"
    width = max(40, (pen.width or 100) - 19)
    for line in wrap_lines(printable(item.remedy), width) if item.remedy else ():
        text += f"{' ' * 19}{pen.paint(line, 'dim')}\n"
    return text


def _run_checks(args: argparse.Namespace) -> Iterator[CheckResult]:
    yield CheckResult("opsconsole", OK, f"{__version__}, Python {platform.python_version()}")
    yield _check_node()
    terraform = real_terraform(os.environ)
    yield _check_terraform(terraform)
    yield _check_mirror(needed=terraform is not None)
    consoles: dict[str, Settings] = {}
    try:
        each = opening.each_stack(args)
    except OpsconsoleError as problem:
        yield CheckResult("settings", WRONG, problem.message, problem.remedy)
        each = []
    for chosen in each:
        stack = chosen.stack if len(each) > 1 else ""
        try:
            settings, origin = opening.read_settings(chosen)
        except OpsconsoleError as problem:
            yield CheckResult("settings", WRONG, problem.message, problem.remedy, stack)
        else:
            yield CheckResult("settings", OK, f"{settings.base_url}, from {origin}", stack=stack)
            if settings not in consoles.values():
                consoles[stack] = settings
        if opening.has_program(chosen):
            yield _check_backend(chosen)._replace(stack=stack)
    if not consoles:
        yield CheckResult("console", NOTE, "not asked, because the settings are wrong")
    for stack, settings in consoles.items():
        for item in asyncio.run(_check_console(settings, args.host, args.agent)):
            yield item._replace(stack=stack)


def _check_backend(args: argparse.Namespace) -> CheckResult:
    try:
        backend = opening.open_state_backend(args, "doctor")
        size = len(backend.read())
    except OpsconsoleError as problem:
        return CheckResult("backend", WRONG, problem.message, problem.remedy)
    content = plural(size, "byte") if size else "no state yet"
    return CheckResult("backend", OK, f"{backend.name}, {content}")


def _check_node() -> CheckResult:
    wanted = [name for name in ("cdktf", "cdktn") if importlib.util.find_spec(name)]
    try:
        path, major = find_node()
    except OpsconsoleError as problem:
        if wanted:
            return CheckResult("Node.js", WRONG, problem.message, problem.remedy)
        return CheckResult("Node.js", NOTE, "none", "Only apps of cdktf and cdktn need it.")
    return CheckResult("Node.js", OK, f"{major}, {path}")


def _check_terraform(path: str | None) -> CheckResult:
    if path is None:
        remedy = "The native engine (`opsconsole plan`) needs none."
        return CheckResult("Terraform", NOTE, "none", remedy)
    try:
        seen = subprocess.run(
            [path, "version", "-json"], capture_output=True, text=True, timeout=30, check=True
        )
        version = json.loads(seen.stdout)["terraform_version"]
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError):
        found = f"{path} does not print its version"
        return CheckResult("Terraform", WRONG, found, "Run it by hand.")
    return CheckResult("Terraform", OK, f"{version}, {path}")


def _check_mirror(*, needed: bool) -> CheckResult:
    folders = provider_install.implied_folders()
    configured = provider_install.settings_file()
    launchers = [item for folder in folders for item in provider_install.launchers(folder)]
    launcher = next((item for item in launchers if item.is_file()), None)
    if configured is not None:
        remedy = "`opsconsole provider install --plugin-dir DIR` puts the provider there."
        found = f"{configured} says where Terraform looks"
        return CheckResult("provider mirror", NOTE, found, remedy)
    if launcher is not None:
        return CheckResult("provider mirror", OK, str(launcher.parents[5]))
    found = f"no provider {__version__} where Terraform looks"
    if not needed:
        return CheckResult("provider mirror", OK, found)
    return CheckResult("provider mirror", NOTE, found, "Run `opsconsole provider install`.")


async def _check_console(
    settings: Settings, host_id: str | None, agent_id: str | None
) -> list[CheckResult]:
    """Search once, which needs no right to write; then read a host and an agent."""
    # Without host_get, an empty update reads a host, and the client treats it as a write.
    async with aclosing(Client(settings, get_only=host_id is None)) as client:
        try:
            reply = await client.send_unchecked(OPERATIONS["specialty_search"])
        except ConsoleError as problem:
            return [CheckResult("console", WRONG, problem.message, problem.remedy)]
        from opsconsole.v1.bodies import ListEnvelope  # with the first answer

        try:
            client.check_shape(OPERATIONS["specialty_search"], reply, ListEnvelope.read)
            key = CheckResult("key", OK, "accepted")
        except ConsoleError as problem:
            key = _judge_key(reply.status, problem)
        results = [CheckResult("console", OK, f"answers with status {reply.status}"), key]
        results.append(_check_clock(reply))
        if key.status != WRONG:
            console = Console(client, settings)
            if host_id is not None:
                results.append(await _check_host(console, settings, host_id))
            if agent_id is not None:
                results.append(await _check_agent(console, agent_id))
        return results


async def _check_host(console: Console, settings: Settings, host_id: str) -> CheckResult:
    """Read a host as a refresh does, and name the fields that are missing from the answer."""
    reader, named = HostReader(ConsoleSession(console, settings)), console.has("host_get")
    try:
        shows = values_shown(HOST.answer_fields, await reader.read(host_id))
    except HostsUnreadable as problem:
        return CheckResult("host", NOTE, f"not read: {problem.message}", _NAME_HOST_GET)
    except (ConsoleError, UserError) as problem:
        by_writing = isinstance(problem, EmptyUpdateRefused | Forbidden) and not named
        remedy = _NAME_HOST_GET if by_writing else problem.remedy
        return CheckResult(
            "host", WRONG, f"{host_id} cannot be read: {_error_text(problem)}", remedy
        )
    way = "host_get" if named else "an empty update"
    missing = [attribute.name for attribute in HOST.answer_fields if attribute.name not in shows]
    text = f"{host_id} is read by {way}, which shows"
    if not missing:
        return CheckResult("host", OK, f"{text} every field")
    remedy = "What no answer shows is never compared."
    return CheckResult("host", NOTE, f"{text} every field but {', '.join(missing)}", remedy)


async def _check_agent(console: Console, agent_id: str) -> CheckResult:
    """List an agent's plugins, and tell whether the list is complete."""
    try:
        listing = await console.list_all("plugin_list", agent_id)
    except (ConsoleError, UserError) as problem:
        text = f"the plugins of {agent_id} cannot be listed: {_error_text(problem)}"
        return CheckResult("agent", WRONG, text, problem.remedy)
    text = f"{agent_id} shows {plural(len(listing.entries), 'plugin')}"
    if listing.gap is None:
        return CheckResult("agent", OK, f"{text}, the complete list")
    return CheckResult(
        "agent", NOTE, f"{text}, and there may be more: {listing.gap.value}", listing.gap.remedy
    )


def _error_text(problem: OpsconsoleError) -> str:
    return str(problem.answer) if isinstance(problem, ApiError) else problem.message


def _judge_key(status: int, problem: ConsoleError) -> CheckResult:
    if status == 404:
        found = f"not judged: there is no v1 API at this address: {problem.message}"
        return CheckResult("key", WRONG, found, "Check base_url.")
    if not isinstance(problem, ApiError):
        # The answer comes from a proxy, a login page or another service, or is not in the document.
        return CheckResult("key", WRONG, f"not judged: {problem.message}", problem.remedy)
    if status == 401:
        return CheckResult("key", WRONG, f"refused: {_error_text(problem)}", problem.remedy)
    if status == 403:
        text = f"accepted, but it may not search specialties: {_error_text(problem)}"
        return CheckResult("key", NOTE, text, problem.remedy)
    remedy = problem.remedy or "Try again later."
    return CheckResult("key", WRONG, f"not judged: {_error_text(problem)}", remedy)


def _check_clock(reply: Reply) -> CheckResult:
    try:
        console_time = parsedate_to_datetime(reply.headers["date"])
        ahead = round((utc_now() - console_time).total_seconds())
    except (LookupError, ValueError, TypeError):
        return CheckResult("clock", NOTE, "the console's answer has no date to compare with")
    if abs(ahead) <= _CLOCK_TOLERANCE:
        return CheckResult("clock", OK, "agrees with the console's")
    found = f"{abs(ahead):,} seconds {'ahead of' if ahead > 0 else 'behind'} the console's"
    remedy = "Set this machine's clock; drift that is accepted until a date depends on it too."
    return CheckResult("clock", WRONG, found, remedy)
