"""A headless Chromium, driven through the DevTools protocol over a pipe; nothing else is needed.

Messages are JSON that ends with a NUL: the browser reads them from descriptor 3 and writes them to
descriptor 4 (--remote-debugging-pipe).
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

__all__ = ["Browser", "Page", "program"]

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PATIENCE: Final = 120.0
"""Seconds; for a machine on which everything else runs too."""
_SWITCHES: Final = (
    *("--headless=new", "--remote-debugging-pipe", "--disable-gpu", "--hide-scrollbars"),
    *("--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio"),
    "--force-color-profile=srgb",
)


def program() -> str | None:
    """The browser's path, or None where there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


class Browser:
    """A browser with a profile of its own; it ends with the context."""

    def __init__(self, path: str, profile: Path) -> None:
        theirs, self._out = _pipe()
        self._in, ours = _pipe()
        switches = [*_SWITCHES, f"--user-data-dir={profile}", "about:blank"]
        if os.geteuid() == 0:
            switches.insert(0, "--no-sandbox")
        log = os.fspath(profile / "log")
        self._pid = os.posix_spawn(
            path,
            [path, *switches],
            {**os.environ, "HOME": os.fspath(profile)},
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 1, log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
                (os.POSIX_SPAWN_DUP2, 1, 2),
                (os.POSIX_SPAWN_DUP2, theirs, 3),
                (os.POSIX_SPAWN_DUP2, ours, 4),
            ],
            setpgroup=0,
        )
        os.close(theirs)
        os.close(ours)
        self._log = Path(log)
        self._rest = b""
        self._calls = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError, TimeoutError):
            self.call("Browser.close")
        os.close(self._out)
        os.close(self._in)
        until = time.monotonic() + 20
        while not (ended := os.waitpid(self._pid, os.WNOHANG)[0]) and time.monotonic() < until:
            time.sleep(0.05)
        # Its group is its own: helpers that are left go with it.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        if not ended:
            os.waitpid(self._pid, 0)

    def call(self, method: str, session: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Call a method of the protocol and return its result; events that come are kept."""
        self._calls += 1
        message = {"id": self._calls, "method": method, "params": arguments}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        until = time.monotonic() + _PATIENCE
        while (answer := self._next(until)).get("id") != self._calls:
            self.events.append(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        return dict(answer["result"])

    def _next(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self._in], [], [], left)[0]:
                raise TimeoutError(f"no answer: {self._log.read_text(errors='replace')[-2000:]}")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise OSError(f"it ended: {self._log.read_text(errors='replace')[-2000:]}")
            self._rest += data
        text, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(text))

    @contextlib.contextmanager
    def page(
        self, file: Path, width: int = 1280, height: int = 900, **media: str
    ) -> Iterator[Page]:
        """Open a file in a window of its own, as on a screen of this size.

        Args:
            file: An HTML file.
            width: CSS pixels.
            height: CSS pixels.
            media: Media features by name, with `_` for `-`: `prefers_color_scheme="dark"`.
        """
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        try:
            for domain in ("Page", "Runtime", "Log", "Network"):
                page.call(f"{domain}.enable")
            page.resize(width, height)
            features = [
                {"name": name.replace("_", "-"), "value": value} for name, value in media.items()
            ]
            page.call("Emulation.setEmulatedMedia", features=features)
            page.open(file)
            yield page
        finally:
            self.call("Target.closeTarget", targetId=target)


class Page:
    """A page that is open."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser = browser
        self._session = session

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Call a method of the protocol on this page."""
        return self._browser.call(method, self._session, **arguments)

    def open(self, file: Path) -> None:
        """Load a file and wait until it is there and painted."""
        self.call("Page.navigate", url=file.as_uri())
        self.wait("document.readyState === 'complete' && location.protocol === 'file:'")

    def resize(self, width: int, height: int, ratio: float = 1, *, mobile: bool = False) -> None:
        """Make the screen this large, in CSS pixels."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=ratio,
            mobile=mobile,
        )

    def run(self, code: str) -> Any:
        """Evaluate an expression of JavaScript; a promise is waited for."""
        done = self.call("Runtime.evaluate", expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, code: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + _PATIENCE
        while not self.run(f"Boolean({code})"):
            assert time.monotonic() < until, f"it never came true: {code}"
            time.sleep(0.02)

    def settle(self) -> None:
        """Wait until what was asked for has been painted. Where scripts are off it never is."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """Send an event of the mouse: `Moved`, `Pressed`, `Released` or `Wheel`."""
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, **more)
        self.settle()

    def click(self, x: float, y: float, times: int = 1) -> None:
        """Click with the left button."""
        for number in range(1, times + 1):
            for kind in ("Pressed", "Released"):
                self.mouse(kind, x, y, button="left", buttons=1, clickCount=number)

    def key(self, key: str, code: int = 0, text: str = "") -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.call(
                "Input.dispatchKeyEvent",
                type=kind,
                key=key,
                windowsVirtualKeyCode=code,
                **more,
            )
        self.settle()

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Save what is to be seen as a PNG."""
        done = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(done["data"]))

    def complaints(self) -> list[str]:
        """What went wrong on this page so far: exceptions, console errors, refused resources."""
        found = []
        for event in self._browser.events:
            if event.get("sessionId") != self._session:
                continue
            method, params = event["method"], event["params"]
            if method == "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
                found.append(params["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
                found.append(str(params["args"]))
        return found

    def requests(self) -> list[str]:
        """Addresses that this page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self._browser.events
            if event.get("sessionId") == self._session
            and event["method"] == "Network.requestWillBeSent"
        ]


def _pipe() -> tuple[int, int]:
    """A pipe whose descriptors are out of the way of 3 and 4, and are not inherited."""
    low = os.pipe()
    high = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in low]
    for one in low:
        os.close(one)
    return high[0], high[1]
