"""A real Chromium in front of the app; what it saw is kept under test-artifacts/."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from devhost.azurite import Azurite
from tests.api.service import ROOT, Service, running

ARTIFACTS = ROOT / "test-artifacts" / "browser"
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
)  # fmt: skip
PATIENCE = 90_000  # milliseconds for a page or a photo, on a machine that does other things too
WIDTHS = {"desktop": {"width": 1280, "height": 900}, "phone": {"width": 390, "height": 844}}
_numbers = count(1)


@pytest.fixture(scope="session")
def service(azurite: Azurite) -> Iterator[Service]:
    with running(azurite) as app:
        yield app


@pytest.fixture(scope="module")  # its event loop must be gone before other tests run theirs
def browser() -> Iterator[Browser]:
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.fail("These tests need Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        expect.set_options(timeout=PATIENCE)
        yield chromium
        chromium.close()


@dataclass(frozen=True)
class Visitor:
    """One person at the page: the browser's side of it, and the API's."""

    page: Page
    owner: str
    api: httpx.Client
    service: Service

    def tiles(self, status: str = "") -> int:
        """How many tiles have this status; all without one."""
        return self.page.locator(f'.tile[data-status="{status}"]' if status else ".tile").count()

    def wait_for(self, status: str, number: int) -> None:
        """Until that many tiles have the status."""
        self.page.wait_for_function(
            "([status, number]) => document.querySelectorAll("
            "`.tile[data-status='${status}']`).length === number",
            arg=[status, number],
        )

    def choose(self, *photos: Path) -> None:
        """Pick files as the button does."""
        self.page.set_input_files("#files", [str(photo) for photo in photos])

    def keep(self, name: str) -> None:
        """A screenshot of the whole page."""
        ARTIFACTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=ARTIFACTS / f"{name}.png", full_page=True)


@pytest.fixture
def visit(service: Service, browser: Browser) -> Iterator[Callable[..., Visitor]]:
    """`visit(width="phone")` opens the page as somebody new; no script of it may fail."""
    opened, faults = [], []

    def open_page(width: str = "desktop", *, at_once: bool = True, **options: object) -> Visitor:
        owner = f"visitor-{next(_numbers)}"
        headers = {"X-Owner-Id": owner}
        context = browser.new_context(viewport=WIDTHS[width], **options)
        context.set_default_timeout(PATIENCE)
        context.route(
            f"{service.host.base_url}/**",
            lambda route: route.continue_(headers=route.request.headers | headers),
        )
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        client = service.client(owner)
        opened.append((context, client))
        if at_once:
            page.goto(f"{service.host.base_url}/app")
        return Visitor(page, owner, client, service)

    yield open_page
    for context, client in opened:
        context.close()
        client.close()
    assert faults == []
