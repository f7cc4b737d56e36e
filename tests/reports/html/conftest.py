"""A headless Chromium, spoken to over its DevTools protocol.

Where there is none, its tests are skipped, with CI=true as well: no lock installs a browser.
"""

import asyncio
import base64
import itertools
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from patience import PATIENCE, until

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_DISABLED = (
    *("gpu", "dev-shm-usage", "background-networking", "component-update"),
    *("sync", "extensions"),
)
_FLAGS = (
    *("--headless", "--no-sandbox", "--no-first-run", "--hide-scrollbars"),
    *(f"--disable-{name}" for name in _DISABLED),
    *("--remote-debugging-port=0", "--remote-debugging-address=127.0.0.1"),
    "--proxy-server=127.0.0.1:1",
)


class Browser:
    """One tab: loads pages, runs script in them, presses keys, takes pictures."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse, folder: Path) -> None:
        self._socket = socket
        self._folder = folder
        self._numbers = itertools.count(1)
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self._session = self._context = ""

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send one command and return its result; what happens meanwhile is noted."""
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        await self._socket.send_json(message)
        while True:
            answer = await self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    async def _receive(self) -> dict[str, Any]:
        answer = await self._socket.receive_json(timeout=PATIENCE)
        event, facts = answer.get("method"), answer.get("params", {})
        if event == "Network.requestWillBeSent":
            self.requests.append(facts["request"]["url"])
        elif event in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.complaints.append(str(facts))
        return answer

    async def attach(self) -> None:
        """Open a tab and listen to it."""
        self._context = (await self.call("Target.createBrowserContext"))["browserContextId"]
        tab = await self.call(
            "Target.createTarget", url="about:blank", browserContextId=self._context
        )
        found = await self.call("Target.attachToTarget", targetId=tab["targetId"], flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.call(f"{domain}.enable")

    async def detach(self) -> None:
        """Close the tab, and forget what it has stored."""
        self._session = ""
        await self.call("Target.disposeBrowserContext", browserContextId=self._context)

    async def load(self, html: str, script: bool = True, fragment: str = "") -> None:
        """Show `html` from a file, and wait until it is laid out."""
        await self.call("Emulation.setScriptExecutionDisabled", value=not script)
        path = self._folder / "page.html"
        path.write_text(html, encoding="utf-8")
        self.requests.clear()
        self.complaints.clear()
        await self.call("Page.navigate", url=f"{path.as_uri()}{fragment}")
        while (await self._receive()).get("method") != "Page.loadEventFired":
            pass
        if script:
            await self.frames()

    async def frames(self) -> None:
        """Wait for two frames: whatever was asked for is laid out then."""
        await self.run("new Promise(r => requestAnimationFrame(() => requestAnimationFrame(r)))")

    async def run(self, script: str) -> Any:
        """Return what the expression `script` comes to."""
        found = await self.call(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    async def press(self, key: str, text: str = "") -> None:
        """Press and release one key."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "/": 191, " ": 32}
        facts = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0), "text": text}
        await self.call("Input.dispatchKeyEvent", type="keyDown", **facts)
        await self.call("Input.dispatchKeyEvent", type="keyUp", **facts)

    async def write(self, text: str) -> None:
        """Write `text` where the focus is, and wait until it is laid out."""
        await self.call("Input.insertText", text=text)
        await self.frames()

    async def size(self, width: int, height: int, dark: bool = False) -> None:
        """Set the size of the window and the preferred colour scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        await self.call("Emulation.setDeviceMetricsOverride", **size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.call("Emulation.setEmulatedMedia", features=[scheme])

    async def picture(self, path: Path, whole: bool = False) -> None:
        """Save a picture of the window, or of the whole page."""
        found = await self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        await asyncio.to_thread(path.write_bytes, base64.b64decode(found["data"]))


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Chromium, which all tests share: starting it is most of what they cost."""
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip("no Chromium here: apt-get install chromium")
    folder = tmp_path_factory.mktemp("chromium")
    words = (program, *_FLAGS, f"--user-data-dir={folder}", "about:blank")
    silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = subprocess.Popen(words, env=os.environ | {"HOME": str(folder)}, **silent)
    # The file in which Chromium says where it listens.
    said = folder / "DevToolsActivePort"
    try:
        until(lambda: said.exists() and len(said.read_text().split()) == 2, "Chromium starts")
        port, path = said.read_text().split()
        yield f"ws://127.0.0.1:{port}{path}"
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture
async def browser(chromium: str, tmp_path: Path) -> AsyncIterator[Browser]:
    """A tab of the test's own, with no cookies or storage of another."""
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(chromium, max_msg_size=0) as socket,
    ):
        tab = Browser(socket, tmp_path)
        await tab.attach()
        yield tab
        await tab.detach()


@pytest.fixture
def pictures() -> Callable[[str], Path | None]:
    """Where pictures go: the folder that REPORT_PICTURES names; none without it."""
    folder = os.environ.get("REPORT_PICTURES")

    def path(name: str) -> Path | None:
        return Path(folder) / f"{name}.png" if folder else None

    return path
