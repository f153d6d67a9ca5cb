# SPDX-License-Identifier: Apache-2.0
"""A real browser for tests of the status page: Chromium by its WebDriver, which speaks JSON over HTTP.

Where there is none (`apt-get install chromium chromium-driver`), find() says so."""

import base64
import http.client
import json
import os
import re
import shutil
import subprocess
import tempfile


def find():
    """(browser, driver), or None."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    return (browser, driver) if browser and driver else None


class Browser:
    """One window of a width and height in its own pixels; `phone`: as on one, with touch."""

    def __init__(self, width, height, phone=False, dark=False):
        self.folder = tempfile.mkdtemp(prefix="browser-")
        browser, driver = find()
        env = {**os.environ, "HOME": self.folder, "XDG_RUNTIME_DIR": self.folder}
        self.driver = subprocess.Popen([driver, "--port=0"], stdout=subprocess.PIPE, env=env, text=True)
        self.port = next(int(m[1]) for line in self.driver.stdout
                         if (m := re.search(r"started successfully on port (\d+)", line)))
        options = {"binary": browser, "args": [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
            "--disable-background-networking", "--disable-features=BackForwardCache", "--no-first-run", f"--user-data-dir={self.folder}/profile",
            f"--window-size={width},{height}", *(["--force-dark-mode"] if dark else [])]}
        if phone:
            options["mobileEmulation"] = {"deviceMetrics": {"width": width, "height": height, "pixelRatio": 2}}
        want = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.session = ""
        self.session = "/session/" + self.call("POST", "/session", {"capabilities": {"alwaysMatch": want}})["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.call("DELETE", "")
        self.driver.terminate()
        self.driver.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, self.session + path, json.dumps(body) if body is not None else None,
                           {"Content-Type": "application/json"})
        answer = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(answer, dict) and answer.get("error"):
            raise RuntimeError(f"{answer['error']}: {answer['message']}")
        return answer

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script):
        """What a function with this body returns."""
        return self.call("POST", "/execute/sync", {"script": script, "args": []})

    def press(self, *keys):
        """Keys one after the other, where the focus is."""
        down_up = [{"type": kind, "value": k} for k in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": down_up}]})

    def errors(self):
        """What scripts and the page's policy complained about."""
        return [e["message"] for e in self.call("POST", "/se/log", {"type": "browser"}) if e["level"] != "INFO"]

    def shoot(self, path, most=None):
        """The whole page as a picture, of at most so many pixels' height."""
        height = self.run("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": self.run("return document.documentElement.clientWidth"),
                "height": min(height, most or height), "scale": 1}
        shot = self.call("POST", "/goog/cdp/execute", {"cmd": "Page.captureScreenshot", "params": {
            "format": "png", "captureBeyondViewport": True, "clip": clip}})
        with open(path, "wb") as f:
            f.write(base64.b64decode(shot["data"]))
