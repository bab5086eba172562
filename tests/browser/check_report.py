# SPDX-License-Identifier: GPL-2.0-only
"""Look at the pages of a report in a real browser: ``make check-report``.

``check_report.py DIRECTORY [SCREENSHOTS]`` opens every page of DIRECTORY in headless Chromium, as
wide as a desktop and as a phone, light, dark and as printed, and ends with 1 if the console shows
an error, anything is loaded from elsewhere, a drawing is not shown, a link leads nowhere, or a page
is wider than the screen. Needs chromium, chromedriver and selenium.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

from selenium import webdriver
from selenium.webdriver.chrome.service import Service

WIDTHS = {"desktop": 1280, "phone": 360}
LOOKS = {
    "light": {"media": "screen", "features": [{"name": "prefers-color-scheme", "value": "light"}]},
    "dark": {"media": "screen", "features": [{"name": "prefers-color-scheme", "value": "dark"}]},
    "print": {"media": "print", "features": []},
}
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_SHOWN = """
return [...document.querySelectorAll('svg, img')].map(node => {
  const box = node.getBoundingClientRect();
  const painted = node.naturalWidth > 0 || node.querySelector('path') !== null;
  return {name: node.getAttribute('aria-label') || node.src, ok: painted && box.width > 100
          && box.height > 50 && box.right <= document.documentElement.clientWidth + 1};
});
"""
_LINKS = "return [...document.querySelectorAll('a[href]')].map(node => node.href);"
_LOADED = "return performance.getEntriesByType('resource').map(entry => entry.name);"
_IDS = "return [...document.querySelectorAll('[id]')].map(node => node.id);"
_WIDE = "return document.documentElement.scrollWidth - document.documentElement.clientWidth;"


@contextlib.contextmanager
def browser() -> Iterator[webdriver.Chrome]:
    """Start Chromium with a profile of its own."""
    options = webdriver.ChromeOptions()
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    with tempfile.TemporaryDirectory() as profile:
        for flag in (*_FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        try:
            yield driver
        finally:
            driver.quit()


def check(driver: webdriver.Chrome, page: Path, screenshots: Path | None) -> Iterator[str]:
    """Yield what is wrong with a page."""
    for device, width in WIDTHS.items():
        for look, media in LOOKS.items():
            driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
            driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
            driver.get(page.as_uri())
            where = f"{page.name}, {device}, {look}"
            for entry in driver.get_log("browser"):
                yield f"{where}: console: {entry['message']}"
            excess = driver.execute_script(_WIDE)
            if excess > 0:
                yield f"{where}: {excess} pixels wider than the screen"
            for drawing in driver.execute_script(_SHOWN):
                if not drawing["ok"]:
                    yield f"{where}: not shown: {drawing['name']}"
            for name in driver.execute_script(_LOADED):
                yield f"{where}: loads {name}"
            if screenshots is not None:
                _shoot(driver, screenshots / f"{page.stem}-{device}-{look}.png")


def _shoot(driver: webdriver.Chrome, file: Path) -> None:
    import base64

    options = {"captureBeyondViewport": True}
    shot = driver.execute_cdp_cmd("Page.captureScreenshot", options)
    file.write_bytes(base64.b64decode(shot["data"]))


def check_links(driver: webdriver.Chrome, pages: list[Path]) -> Iterator[str]:
    """Yield links that lead nowhere."""
    ids, links = {}, []
    for page in pages:
        driver.get(page.as_uri())
        ids[page] = set(driver.execute_script(_IDS))
        links += [(page, link) for link in driver.execute_script(_LINKS)]
    for page, link in links:
        address, fragment = urldefrag(link)
        target = Path(unquote(urlparse(address).path))
        if target not in ids:
            yield f"{page.name}: {link} leads to no page of the report"
        elif fragment and unquote(fragment) not in ids[target]:
            yield f"{page.name}: {link} leads to no place of the page"


def main() -> int:
    """Check all pages and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=Path)
    parser.add_argument("screenshots", type=Path, nargs="?")
    arguments = parser.parse_args()
    pages = sorted(arguments.directory.resolve().glob("*.html"))
    if arguments.screenshots is not None:
        arguments.screenshots.mkdir(parents=True, exist_ok=True)
    problems = [] if pages else [f"{arguments.directory} has no pages"]
    with browser() as driver:
        for page in pages:
            problems += check(driver, page, arguments.screenshots)
        problems += check_links(driver, pages)
    print("\n".join(problems) or f"{len(pages)} pages, nothing wrong")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
