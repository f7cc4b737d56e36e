"""`make demo`: plan, deploy, drift, repair and destroy the example fleet on an emulated console.

Everything happens in a temporary folder and on loopback; nothing is left behind. Where there is no
Terraform, what can be shown without is shown.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from demo_steps import fleet
from demo_steps.engines import (
    Cdktf,
    Engine,
    Failure,
    Native,
    Shell,
    Terraform,
    find_cdktf,
    find_terraform,
    installed_command,
)
from demo_steps.folder import APP, PLUGINS, ROOT, STACK, environment, folder
from demo_steps.screen import Screen

from opsconsole.emulator import Emulator, spawn


def main() -> int:
    """Tell the story; return the exit code."""
    screen = Screen()
    screen.title(
        "From a Python program to a console, and back",
        "An emulated console on loopback, a temporary folder; nothing is left behind.",
    )
    terraform, cdktf = find_terraform(), find_cdktf(ROOT)
    try:
        with spawn() as console, folder() as here:
            shell = Shell(screen, here, environment(here, console, terraform))
            _introduce(screen, console)
            if terraform is None:
                screen.say("Neither Terraform nor OpenTofu is here: the native engine does it all.")
                _declare(screen, shell, Native(shell))
                if cdktf is not None:
                    _standing_in(screen, console, shell, cdktf)
                _whole_way(screen, console, Native(shell))
            else:
                engine = Cdktf(shell, cdktf) if cdktf else Terraform(shell, terraform)
                if cdktf is None:
                    screen.say("There is no cdktf command (npm brings it): Terraform runs alone.")
                _declare(screen, shell, engine)
                _install(screen, shell)
                took = _whole_way(screen, console, engine)
                if cdktf is not None:
                    _standing_in(screen, console, shell, cdktf, took)
                _natively(screen, console, Native(shell))
    except Failure as failure:
        screen.failed(failure.command, failure.output)
        return 1
    return 0


def _introduce(screen: Screen, console: Emulator) -> None:
    screen.step("A console")
    screen.say(
        f"`opsconsole emulator` serves one at [bold]{console.base_url}[/].",
        "It knows some specialties, plugins and blacklisted commands, and no host yet.",
    )


def _declare(screen: Screen, shell: Shell, engine: Engine) -> None:
    screen.step("A program")
    screen.say(f"{APP} is an ordinary CDKTF app in Python: a loop over sites and roles.")
    engine.synth()
    program: Mapping[str, Any] = json.loads(
        (shell.folder / "cdktf.out" / "stacks" / STACK / "cdk.tf.json").read_text()
    )
    screen.say(f"It declares [bold]{', '.join(fleet.declared(program))}[/].")


def _install(screen: Screen, shell: Shell) -> None:
    screen.step("A provider that needs no registry")
    shell.run(installed_command(), "provider", "install", "--plugin-dir", PLUGINS)
    screen.say("Terraform finds the provider on this machine now, and starts it as it needs it.")


def _standing_in(
    screen: Screen, console: Emulator, shell: Shell, cdktf: Path, by_terraform: float = 0.0
) -> None:
    """Show the cdktf command with the native engine in the place of Terraform."""
    screen.step("cdktf deploy, carried out by the reconciler")
    screen.say(
        "[bold]export TERRAFORM_BINARY_NAME=opsconsole-terraform[/]: the same command, "
        "and no Terraform."
    )
    environment = {**shell.environment, "TERRAFORM_BINARY_NAME": "opsconsole-terraform"}
    engine = Cdktf(Shell(screen, shell.folder, environment), cdktf)
    console.reset_log()
    took = _timed(engine.deploy)
    beside = f"; through Terraform it took {by_terraform:.1f} s" if by_terraform else ""
    screen.say(f"It took {took:.1f} s{beside}. These were {fleet.requests(console)}.")
    engine.destroy()


def _timed(step: Callable[[], object]) -> float:
    started = time.perf_counter()
    step()
    return time.perf_counter() - started


def _whole_way(screen: Screen, console: Emulator, engine: Engine) -> float:
    """Show plan, deployment, drift, repair and end; return the seconds of the deployment."""
    screen.step("The plan")
    screen.outcome(engine.plan())
    screen.say("Nothing has happened yet: this is what [bold]would[/] be done.")

    screen.step("The deployment")
    console.reset_log()
    started = time.perf_counter()
    deployed = engine.deploy()
    took = time.perf_counter() - started
    screen.outcome(deployed, whole=False)
    screen.say(f"It took {took:.1f} s and {fleet.requests(console)}. The console holds now:")
    screen.table(fleet.HEADINGS, fleet.hosts(console))
    screen.say("Planned again, there is nothing left to do:")
    screen.outcome(engine.plan())

    _meddle(screen, console)
    _drift(screen, engine)

    screen.step("The repair")
    screen.outcome(engine.deploy(), whole=False)
    screen.table(fleet.HEADINGS, fleet.hosts(console))
    screen.say("app-south is a new host with a new agent. The plan is empty again:")
    screen.outcome(engine.plan())
    _destroy(screen, console, engine)
    return took


def _natively(screen: Screen, console: Emulator, engine: Native) -> None:
    """Show the other engine on the program and the state file that Terraform has just used."""
    screen.step("The same without Terraform")
    screen.say(
        "`opsconsole` has an engine of its own for the same program and the same state file.",
        "It sees the whole plan, so hosts go in bulk, however many there are.",
    )
    console.reset_log()
    screen.outcome(engine.deploy(), whole=False)
    screen.say(f"It took {fleet.requests(console)}.")
    _meddle(screen, console)
    _drift(screen, engine)
    screen.step("The repair")
    screen.outcome(engine.deploy(), whole=False)
    _destroy(screen, console, engine)


def _drift(screen: Screen, engine: Engine) -> None:
    screen.step("The drift")
    if isinstance(engine, Native):
        screen.quote(engine.drift())
        screen.say(
            "This takes no lock and writes no state: it may run every night. Unchecked are the "
            "fields of agents, which no documented operation reads."
        )
    else:
        screen.outcome(engine.plan())
        screen.say("Every change was found, and what would mend it is planned.")


def _destroy(screen: Screen, console: Emulator, engine: Engine) -> None:
    screen.step("The end")
    screen.outcome(engine.destroy())
    if isinstance(engine, Native):
        screen.say("What goes along is archived by the console with its host: no call is made.")
    left = len(console.rows("hosts"))
    screen.say(
        f"{left} hosts are left, and no agent runs without its host.",
        "The specialty and the blacklisted commands were there before, and stay.",
    )


def _meddle(screen: Screen, console: Emulator) -> None:
    screen.step("Behind everybody's back")
    colleague = fleet.Colleague(console)
    colleague.retag("web-north", ["site:north", "role:cache"], port=2222)
    colleague.detach("app-north", "plg_metrics")
    colleague.delete_host("app-south")
    screen.say(
        "Somebody works on the console by hand, and",
        "  • gives web-north another role and another port,",
        "  • detaches the plugin metrics from the agent of app-north,",
        "  • deletes the host app-south; the console archives its agent with it.",
    )


if __name__ == "__main__":
    sys.exit(main())
