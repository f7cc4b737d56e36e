"""Credentials: refused once for all, and shown nowhere."""

import base64
import zipfile
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from declarations import agent_on, held, program
from engines import Run
from opsconsole.emulator import API_KEY
from opsconsole.lifecycle.interface import PlanCreation
from sampling import sample

SECRET = "svc_ak_Zq7/kept+close="
COOKIE = "session-Zq7kept"

PROGRAM = program(
    host={"web": {"name": "web"}, "other": {"name": "other"}},
    specialty={"linux": {"key": "linux-server"}},
    agent={"a": agent_on("web", "a")},
)


def by_variable(setting: str) -> dict[str, Any]:
    """Return what a program adds so that a credential comes in by an ephemeral variable."""
    secret = {"type": "string", "ephemeral": True, "sensitive": True}
    given = {"opsconsole": {setting: "${var.secret}"}}
    return {"variable": {"secret": secret}, "provider": given}


UNSET = {"OPSCONSOLE_API_KEY": ""}
WAYS: dict[str, tuple[dict[str, Any], dict[str, str], str]] = {
    "environment": ({}, {"OPSCONSOLE_API_KEY": SECRET}, SECRET),
    "ephemeral-key": (by_variable("api_key"), UNSET | {"TF_VAR_secret": SECRET}, SECRET),
    "ephemeral-cookie": (
        by_variable("session_cookie"),
        UNSET | {"TF_VAR_secret": f"console_session={COOKIE}"},
        COOKIE,
    ),
}
"""How the credentials come in: additions to the program, to the environment, the secret."""


@pytest.mark.terraform
@pytest.mark.engine_terraform
@pytest.mark.parametrize("way", sample(WAYS, 1))
def test_credentials_show_up_nowhere(way, installed_terraform, console_of):
    console = console_of("default")
    more, variables, secret = WAYS[way]
    console.create("keys", secret=SECRET, cookie=COOKIE, status="active", tenant_write=True)
    logged = {"TF_LOG": "trace", "TF_LOG_PATH": "trace.log"}
    engine = installed_terraform(PROGRAM | more, console, **logged, **variables)

    plan = engine.plan()
    runs = [plan.run, engine.apply(plan.saved)]
    # A console, or a proxy, that echoes what it was sent.
    echo = f"<html>Authorization: Bearer {secret} Cookie: session={secret}</html>"
    console.fault(path="/plugins$", status=403, code="FORBIDDEN", message=f"no, {secret}")
    console.fault(path="/search", status=400, text=echo, content_type="text/html")
    other = held(engine)["opsconsole_host.other"]["id"]
    console.fault(path=f"/hosts/{other}$", status=200, text=echo, content_type="text/html")
    runs.append(engine.plan_run(expect={1}))
    assert len(runs[-1].errors) == 2
    assert any("was not checked" in item["summary"] for item in runs[-1].warnings)
    console.change("keys", console.rows("keys")[-1]["id"], status="expired")
    runs.append(engine.plan_run(expect={1}))

    assert "GET /api/v1/specialties/search" in (engine.folder / "trace.log").read_text()
    found = [place for place, text in written(engine.folder, runs) if holds(text, secret)]
    assert found == []
    assert not any(holds(text, API_KEY) for _, text in written(engine.folder, runs))


def holds(content: bytes, secret: str) -> bool:
    """Tell whether `content` holds the secret in any spelling, or what is secret of it."""
    core = secret.removeprefix("svc_ak_")
    spellings = {core, quote(core, safe=""), base64.b64encode(secret.encode()).decode()}
    return any(spelling.encode() in content for spelling in spellings)


def written(folder: Path, runs: list[Run]) -> list[tuple[str, bytes]]:
    """Return everything that was written or printed; plan files are taken apart."""
    texts = [(" ".join(run.command), run.text.encode()) for run in runs]
    for file in folder.rglob("*"):
        if not file.is_file():
            continue
        texts.append((file.name, file.read_bytes()))
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as plan:
                texts += [(f"{file.name}/{name}", plan.read(name)) for name in plan.namelist()]
    return texts


async def test_one_401_is_explained_once_though_it_answers_for_several(console, one_run):
    console.fault(operation="specialty_search", kind="unauthorized", times=None)
    lifecycle = one_run().lifecycles["opsconsole_specialty"]
    config = lifecycle.definition.empty()
    keys = ("identity", "linux-server")

    plans = await lifecycle.plan([PlanCreation(config | {"key": key}) for key in keys])

    told = [item.text for plan in plans for item in plan.diagnostics]
    assert sum("API Keys settings" in text for text in told) == 1
    assert sum(text.startswith("The console refused the credentials") for text in told) == 1
