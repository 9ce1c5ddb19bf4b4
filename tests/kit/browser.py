# SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
"""A headless Chromium of its own for one test: own folder, own driver, no network; all that it asked for and complained of is kept."""
import json
import os
import tempfile

from selenium import webdriver
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

from kit import run

# of a picture: how many colours, the share of the most frequent one, mean lightness from 0 to 1
PIXELS = """const [data, done] = arguments, image = new Image();
image.onload = () => {
    const canvas = document.createElement("canvas"), colours = new Map();
    canvas.width = image.width; canvas.height = image.height;
    const context = canvas.getContext("2d");
    context.drawImage(image, 0, 0);
    const bytes = context.getImageData(0, 0, image.width, image.height).data;
    let light = 0;
    for (let i = 0; i < bytes.length; i += 4) {
        const colour = bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2];
        colours.set(colour, (colours.get(colour) || 0) + 1);
        light += (bytes[i] + bytes[i + 1] + bytes[i + 2]) / 765;
    }
    const count = bytes.length / 4;
    done([colours.size, Math.max(...colours.values()) / count, light / count]);
};
image.src = "data:image/png;base64," + data;"""


class Browser:
    """`size` of the window; `script=False`: JavaScript off; `dark`: what the system prefers."""

    def __init__(self, folder, size=(1280, 900), script=True, dark=False):
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        options.add_argument("--headless=new")
        self.folder = tempfile.mkdtemp(prefix="chromium-", dir=folder)
        options.add_argument(f"--user-data-dir={self.folder}")
        options.add_argument(f"--window-size={size[0]},{size[1]}")
        for flag in ("disable-gpu", "disable-dev-shm-usage", "disable-extensions", "disable-background-networking", "disable-sync",
                     "disable-component-update", "no-first-run", "no-default-browser-check", "force-device-scale-factor=1",
                     "host-resolver-rules=MAP * ~NOTFOUND"):
            options.add_argument(f"--{flag}")
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        if not script:
            options.add_experimental_option("prefs", {"profile.managed_default_content_settings.javascript": 2})
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        options.page_load_strategy = "normal"
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_page_load_timeout(60)
        self.driver.set_script_timeout(60)
        self.requests, self.complaints = [], []
        self.expected = []  # texts of complaints that are meant to be, and of what was asked for and refused
        if dark:
            self.emulate(dark=True)

    def emulate(self, media="", dark=False):
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
            "media": media, "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]})

    def open(self, path):
        self.page = "file://" + os.path.abspath(path)
        self.driver.get(self.page)
        return self

    def js(self, script, *args):
        return self.driver.execute_script(script, *args)

    def all(self, selector):
        return self.driver.find_elements("css selector", selector)

    def one(self, selector):
        found = self.all(selector)
        assert len(found) == 1, (selector, len(found))
        return found[0]

    def shot(self, name):
        """A picture of the window, kept in the build's folder browser/, as base64."""
        folder = os.path.join(os.path.dirname(os.path.dirname(run.page_tool())), "browser")
        os.makedirs(folder, exist_ok=True)
        self.driver.save_screenshot(os.path.join(folder, name + ".png"))
        return self.driver.get_screenshot_as_base64()

    def pixels(self, shot):
        """(colours, share of the most frequent one, mean lightness) of a picture; leaves the page."""
        self.log()
        self.driver.get("about:blank")
        found = self.driver.execute_async_script(PIXELS, shot)
        self.driver.get_log("performance")
        return found

    def keys(self, *keys):
        """To whatever has the focus."""
        ActionChains(self.driver).send_keys(*keys).perform()

    def back(self):
        """The focus to what is before."""
        ActionChains(self.driver).key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()

    def log(self):
        """Takes what has come: addresses asked for, and messages of the console (errors, violations of the page's policy)."""
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                if message["params"]["documentURL"].startswith("chrome:"):
                    continue  # the browser's own first page
                self.requests.append(message["params"]["request"]["url"])
            elif message["method"] in ("Page.javascriptDialogOpening", "Page.windowOpen", "Page.downloadWillBegin"):
                self.complaints.append(message)
        self.complaints += self.driver.get_log("browser")

    def stop(self):
        self.driver.quit()
