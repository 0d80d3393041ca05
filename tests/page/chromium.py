"""Drives headless Chromium over a pipe with the DevTools protocol: nothing but Python's standard library.

    with Browser() as browser:
        page = browser.open("file:///.../page.html", width=1440, height=900, dark=False)
        page.evaluate("document.title")
        page.click(100, 200); page.move(10, 20); page.press("ArrowRight")
        page.screenshot("page.png")
        assert not page.messages and page.requests == [page.address]

Messages are what scripts wrote to the console, errors that nobody caught, and entries of the browser's log;
requests are the addresses that the page asked for.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time


def find_browser():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if shutil.which(name):
            return shutil.which(name)
    return None


class Browser:
    def __init__(self):
        program = find_browser()
        if not program:
            raise RuntimeError("there is no Chromium here (Debian: chromium)")
        self.folder = tempfile.mkdtemp()
        ours_in, self.to_browser = os.pipe()
        self.from_browser, ours_out = os.pipe()
        os.set_inheritable(ours_in, True)
        os.set_inheritable(ours_out, True)

        def wire():  # the browser reads descriptor 3 and writes descriptor 4
            held_in, held_out = os.dup(ours_in), os.dup(ours_out)
            os.dup2(held_in, 3)
            os.dup2(held_out, 4)

        self.log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--user-data-dir=" + os.path.join(self.folder, "profile"), "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--disable-component-update",
             "--hide-scrollbars", "--force-color-profile=srgb", "about:blank"],
            preexec_fn=wire, close_fds=False, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        os.close(ours_in)
        os.close(ours_out)
        self.waiting = b""
        self.number = 0
        self.pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.send("Browser.close")
            self.process.wait(10)
        except Exception:
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def receive(self, until):
        """The next message, or None when the time is over."""
        while b"\0" not in self.waiting:
            rest = until - time.monotonic()
            if rest <= 0 or not select.select([self.from_browser], [], [], rest)[0]:
                return None
            piece = os.read(self.from_browser, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium ended; its log:\n" + self.tail())
            self.waiting += piece
        message, self.waiting = self.waiting.split(b"\0", 1)
        return json.loads(message)

    def tail(self):
        self.log.flush()
        with open(self.log.name, "rb") as log:
            return log.read()[-2000:].decode("utf-8", "replace")

    def note(self, message):
        page = self.pages.get(message.get("sessionId"))
        if page:
            page.note(message.get("method"), message.get("params", {}))

    def send(self, method, parameters=None, session=None, seconds=60):
        self.number += 1
        call = {"id": self.number, "method": method, "params": parameters or {}}
        if session:
            call["sessionId"] = session
        os.write(self.to_browser, json.dumps(call).encode() + b"\0")
        until = time.monotonic() + seconds
        while True:
            message = self.receive(until)
            if message is None:
                raise RuntimeError(f"{method}: no answer in {seconds} s; the log:\n" + self.tail())
            if message.get("id") != call["id"]:
                self.note(message)
            elif "error" in message:
                raise RuntimeError(f"{method}: {message['error']}")
            else:
                return message.get("result", {})

    def listen(self, seconds):
        """Takes what the browser says in that time."""
        until = time.monotonic() + seconds
        while True:
            message = self.receive(until)
            if message is None:
                return
            self.note(message)

    def open(self, address, width=1440, height=900, dark=False, touch=False, ratio=1, reduced_motion=False):
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = Page(self, session, target)
        self.pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(domain + ".enable")
        page.size(width, height, ratio, touch)
        page.call("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"}]})
        page.load(address)
        return page


KEYS = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Enter": 13, "Escape": 27, "Tab": 9,
        "Home": 36, "End": 35, "PageUp": 33, "PageDown": 34, " ": 32}


class Page:
    def __init__(self, browser, session, target):
        self.browser, self.session, self.target = browser, session, target
        self.messages, self.requests = [], []
        self.loaded = False
        self.address = None

    def call(self, method, parameters=None, seconds=60):
        return self.browser.send(method, parameters, self.session, seconds)

    def note(self, method, parameters):
        if method == "Runtime.consoleAPICalled":
            self.messages.append(" ".join(str(one.get("value", one.get("description"))) for one in parameters["args"]))
        elif method == "Runtime.exceptionThrown":
            details = parameters["exceptionDetails"]
            self.messages.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded":
            self.messages.append(parameters["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self.requests.append(parameters["request"]["url"])
        elif method == "Page.loadEventFired":
            self.loaded = True

    def load(self, address, seconds=60):
        self.address, self.loaded = address, False
        self.call("Page.navigate", {"url": address})
        until = time.monotonic() + seconds
        while not self.loaded:
            if time.monotonic() > until:
                raise RuntimeError(f"{address} was not loaded in {seconds} s")
            self.browser.listen(0.05)

    def evaluate(self, expression, seconds=60):
        result = self.call("Runtime.evaluate", {"expression": expression, "returnByValue": True, "awaitPromise": True},
                           seconds)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(expression + ": " + details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def settle(self):
        """Waits until two frames were drawn."""
        self.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def wait_for(self, expression, seconds=30):
        until = time.monotonic() + seconds
        while not self.evaluate(expression):
            if time.monotonic() > until:
                raise RuntimeError(f"in {seconds} s it did not come true: {expression}")
            self.browser.listen(0.05)

    def size(self, width, height, ratio=1, touch=False):
        self.call("Emulation.setDeviceMetricsOverride",
                  {"width": width, "height": height, "deviceScaleFactor": ratio, "mobile": touch})
        self.call("Emulation.setTouchEmulationEnabled", {"enabled": touch})

    def middle(self, selector):
        """Scrolls an element into view; its middle."""
        return self.evaluate(
            "(() => { const e = document.querySelector(%s); e.scrollIntoView({block: 'center'});"
            " const b = e.getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]; })()"
            % json.dumps(selector))

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def move(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.settle()

    def click(self, x, y):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)
        self.settle()

    def drag(self, x0, y0, x1, y1, steps=8):
        self.mouse("mouseMoved", x0, y0)
        self.mouse("mousePressed", x0, y0, button="left", buttons=1, clickCount=1)
        for i in range(1, steps + 1):
            self.mouse("mouseMoved", x0 + (x1 - x0) * i / steps, y0 + (y1 - y0) * i / steps, button="left", buttons=1)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1)
        self.settle()

    def wheel(self, x, y, amount):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=amount)

    def tap(self, x, y):
        self.call("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        self.call("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        self.settle()

    def pinch(self, x, y, begin, end, steps=8):
        """Two fingers beside (x, y), from `begin` to `end` units apart."""
        def points(apart):
            return [{"x": x - apart / 2, "y": y, "id": 0}, {"x": x + apart / 2, "y": y, "id": 1}]
        self.call("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": points(begin)})
        for i in range(1, steps + 1):
            self.call("Input.dispatchTouchEvent",
                      {"type": "touchMove", "touchPoints": points(begin + (end - begin) * i / steps)})
        self.call("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        self.settle()

    def press(self, key, shift=False):
        event = {"key": key, "modifiers": 8 if shift else 0}
        if key in KEYS:
            event.update(windowsVirtualKeyCode=KEYS[key], code=key)
        if len(key) == 1:
            event.update(text=key)
        if key == "Enter":
            event.update(text="\r")
        self.call("Input.dispatchKeyEvent", {"type": "keyDown", **event})
        event.pop("text", None)
        self.call("Input.dispatchKeyEvent", {"type": "keyUp", **event})
        self.settle()

    def screenshot(self, path, whole=True):
        picture = self.call("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": whole,
                                                       **({"clip": self.all()} if whole else {})})
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def all(self):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        return {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 8000), "scale": 1}

    def close(self):
        self.call("Page.stopLoading")
        self.browser.send("Target.closeTarget", {"targetId": self.target})
        self.browser.pages.pop(self.session, None)
