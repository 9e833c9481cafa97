"""Looking at photos and deciding: by pointer, keyboard, on a phone, with any eyes."""

import re

import httpx
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from shared.domain.draft import DraftStatus, Metadata
from shared.domain.pictures import Color

STATUS = re.compile(r"/wardrobe/drafts/status")
UPLOAD = re.compile(r"/wardrobe/drafts$")
ONE = re.compile(r"/wardrobe/drafts/[-0-9a-f]{36}$")


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_category_and_colours_are_corrected(visit, width):
    """In the dialog, and still there after a refresh."""
    visitor = visit(width)
    draft = visitor.service.ready(visitor.api)
    page = visitor.page
    page.reload()
    page.get_by_role("button", name=re.compile("^Correct")).click()
    page.wait_for_function("() => document.getElementById('editor-image').naturalWidth > 0")
    visitor.keep(f"{width}-6-dialog")
    page.get_by_label("Category").select_option("Hat")
    page.get_by_label("Add a colour").select_option(label="Teal")
    page.get_by_label("Title").fill("Party dress")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Party dress")).to_be_visible()
    page.reload()
    expect(page.locator(".tile").get_by_text("Hat", exact=True)).to_be_visible()
    metadata = visitor.api.get(f"/wardrobe/drafts/{draft['id']}").json()["metadata"]
    assert (metadata["category"], metadata["source"]) == ("Hat", "user")
    assert "Teal" in [color["name"] for color in metadata["colors"]]


def test_correction_of_what_somebody_else_corrected(visit):
    """The page says so, keeps what was typed and what they wrote, and saves at the second try."""
    visitor = visit()
    draft = visitor.service.ready(visitor.api)
    page = visitor.page
    page.reload()
    page.get_by_role("button", name=re.compile("^Correct")).click()
    page.get_by_label("Title").fill("Mine")
    other = visitor.api.patch(
        f"/wardrobe/drafts/{draft['id']}", json={"notes": "Theirs"}, headers={"If-Match": "*"}
    )
    assert other.status_code == 200
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#editor-notice")).to_contain_text("has changed meanwhile")
    expect(page.get_by_label("Title")).to_have_value("Mine")
    expect(page.get_by_label("Notes")).to_have_value("Theirs")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Mine")).to_be_visible()
    metadata = visitor.api.get(f"/wardrobe/drafts/{draft['id']}").json()["metadata"]
    assert (metadata["title"], metadata["notes"]) == ("Mine", "Theirs")


def test_correction_that_cannot_be_read_again(visit):
    """Somebody was faster, then the line is lost: the dialog says so and keeps what was typed."""
    visitor = visit()
    visitor.service.place(visitor.owner, status=DraftStatus.READY)
    page = visitor.page
    page.reload()
    page.get_by_role("button", name=re.compile("^Correct")).click()
    page.get_by_label("Title").fill("Mine")
    stale = {"status": 412, "code": "STALE", "detail": "Stale.", "retryable": False}
    page.route(
        ONE,
        lambda route: (
            route.fulfill(status=412, json=stale)
            if route.request.method == "PATCH"
            else route.abort()
        ),
    )
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.locator("#editor-notice")).to_have_text("The service does not answer.")
    expect(page.get_by_label("Title")).to_have_value("Mine")


def test_category_that_is_allowed_no_more_stays_until_it_is_corrected(visit):
    """The settings have lost its name since: the dialog still shows it, and saving leaves it be."""
    visitor = visit()
    named = Metadata(category="Kaftan", source="user")
    draft = visitor.service.place(visitor.owner, status=DraftStatus.READY, metadata=named)
    page = visitor.page
    page.reload()
    page.get_by_role("button", name=re.compile("^Correct")).click()
    expect(page.get_by_label("Category")).to_have_value("Kaftan")
    page.get_by_label("Title").fill("Beach")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("heading", name="Beach")).to_be_visible()
    metadata = visitor.api.get(f"/wardrobe/drafts/{draft.id}").json()["metadata"]
    assert (metadata["category"], metadata["title"]) == ("Kaftan", "Beach")


def test_cut_out_that_is_not_in_use_has_no_preview(visit):
    """It has no address: the dialog shows no other picture in its place, and says when it comes."""
    visitor = visit()
    draft = visitor.service.ready(visitor.api)
    visitor.api.patch(
        f"/wardrobe/drafts/{draft['id']}", json={"useImage": "original"}, headers={"If-Match": "*"}
    ).raise_for_status()
    page = visitor.page
    page.reload()
    page.get_by_role("button", name=re.compile("^Correct")).click()
    expect(page.get_by_role("img", name="The photo as taken")).to_be_visible()
    page.get_by_label("Cut out").check()
    expect(page.locator("#editor-image")).to_be_hidden()
    expect(page.get_by_text("The cut-out is shown after saving.")).to_be_visible()
    visitor.keep("desktop-6-unseen")
    page.get_by_label("As taken").check()
    expect(page.get_by_role("img", name="The photo as taken")).to_be_visible()
    expect(page.get_by_text("The cut-out is shown after saving.")).to_be_hidden()


def test_accept_all_goes_on_after_a_photo_that_has_changed(visit):
    """One is refused and cannot be read again: its tile says why, the others are accepted."""
    visitor = visit()
    for _ in range(2):
        visitor.service.place(visitor.owner, status=DraftStatus.READY)
    page = visitor.page
    page.reload()
    page.route(ONE, lambda route: route.abort())
    refused = {"status": 409, "code": "DRAFT_FAILED", "detail": "It failed.", "retryable": False}
    page.route(
        re.compile("/accept$"), lambda route: route.fulfill(status=409, json=refused), times=1
    )
    page.get_by_role("button", name="Accept all 2 ready").click()
    visitor.wait_for("Accepted", 1)
    expect(page.locator(".tile").get_by_text("It failed.")).to_be_visible()


def test_cut_out_is_undone_and_used_again(visit):
    """The photo as taken, and back."""
    visitor = visit()
    visitor.service.ready(visitor.api)
    page = visitor.page
    page.reload()
    page.get_by_role("button", name=re.compile("Undo cut-out")).click()
    expect(page.locator(".tile img.photo:not(.glyph)")).to_be_visible()
    visitor.keep("desktop-7-undone")
    page.get_by_role("button", name=re.compile("Use cut-out")).click()
    expect(page.locator(".tile img.cutout")).to_be_visible()


def test_deleting_takes_two_presses(visit):
    """The first one asks."""
    visitor = visit()
    visitor.service.place(visitor.owner)
    page = visitor.page
    page.reload()
    page.get_by_role("button", name=re.compile("^Delete")).click()
    expect(page.locator(".tile")).to_have_count(1)
    page.get_by_role("button", name=re.compile("^Really delete")).click()
    expect(page.locator(".tile")).to_have_count(0)
    assert visitor.api.get("/wardrobe/drafts").json()["drafts"] == []


def test_everything_can_be_done_with_the_keyboard(visit):
    """Open the dialog, close it, accept, without a pointer; the focus stays where it was."""
    visitor = visit()
    visitor.service.ready(visitor.api)
    page = visitor.page
    page.reload()
    visitor.wait_for("Ready", 1)
    with page.expect_file_chooser():
        page.locator("#choose").focus()
        page.keyboard.press("Enter")
    page.locator('button[data-act="edit"]').focus()
    page.keyboard.press("Enter")
    expect(page.locator("dialog[open]")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog[open]")).to_have_count(0)
    page.locator('button[data-act="accept"]').focus()
    page.keyboard.press("Enter")
    visitor.wait_for("Accepted", 1)
    assert page.evaluate("document.activeElement.closest('.tile') !== null")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", ["app", "docs"])
def test_pages_have_no_accessibility_faults(visit, scheme, path):
    """The rules of WCAG 2.1 AA that a program can check, in both colour schemes."""
    visitor = visit(at_once=False, color_scheme=scheme)
    page = visitor.page
    if path == "app":
        visitor.service.ready(visitor.api)
    page.goto(f"{visitor.service.host.base_url}/{path}")
    page.wait_for_selector(".tile" if path == "app" else "article")
    results = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa"]})
    assert results.violations_count == 0, results.generate_report()


@pytest.mark.parametrize(("path", "content"), [("app", ".tile"), ("docs", "article")])
def test_pages_fit_a_phone(visit, path, content):
    """Nothing sticks out to the side."""
    visitor = visit("phone", at_once=False)
    page = visitor.page
    visitor.service.ready(visitor.api)
    page.goto(f"{visitor.service.host.base_url}/{path}")
    page.wait_for_selector(content)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    visitor.keep(f"phone-8-{path}")


def on_screen(scope):
    """The words of the buttons that are shown; each has the size of a finger and lies in view."""
    buttons = scope.get_by_role("button").all()
    for button in buttons:
        box = button.bounding_box()
        assert min(box["width"], box["height"]) >= 36, button.inner_text()
        assert box["x"] >= 0, button.inner_text()
        assert box["x"] + box["width"] <= 390, button.inner_text()
    return [button.inner_text() for button in buttons]


def test_tiles_on_a_phone_have_their_buttons(visit):
    """What can be done in each state, large enough to touch."""
    visitor = visit("phone")
    page, service = visitor.page, visitor.service
    for status in ("Uploading", "Processing", "Ready", "Accepted"):
        service.place(visitor.owner, status=DraftStatus(status))
    service.fail(visitor.owner, service.place(visitor.owner).id)
    page.reload()
    expect(page.locator(".tile")).to_have_count(5)
    assert on_screen(page.locator("header, .drop, .bar")) == [
        "Choose photos",
        "Accept the ready one",
    ]
    tiles = {tile.get_attribute("data-status"): tile for tile in page.locator(".tile").all()}
    assert {status: on_screen(tile) for status, tile in tiles.items()} == {
        "Uploading": ["Delete"],
        "Processing": ["Accept when ready", "Delete"],
        "Ready": ["Accept", "Correct", "Undo cut-out"],
        "Accepted": ["Correct", "Undo cut-out"],
        "Failed": ["Try again", "Delete"],
    }


def test_dialog_on_a_phone_has_its_buttons(visit):
    """One for each colour too, large enough to touch."""
    visitor = visit("phone")
    named = Metadata(category="Hat", colors=(Color(name="Teal", hex="#008080", share=1.0),))
    visitor.service.place(visitor.owner, status=DraftStatus.READY, metadata=named)
    page = visitor.page
    page.reload()
    page.get_by_role("button", name=re.compile("^Correct")).click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    assert on_screen(dialog) == ["×", "×", "Delete", "Save", "Save and accept"]


def test_description_page_shows_every_operation(visit):
    """Each route, and the code list, readable without a third party."""
    visitor = visit(at_once=False)
    page = visitor.page
    foreign = []
    page.on("request", lambda r: r.url.startswith(visitor.service.host.origin) or foreign.append(r))
    page.goto(f"{visitor.service.host.base_url}/docs")
    page.wait_for_selector("article")
    document = httpx.get(f"{visitor.service.host.base_url}/openapi.json").json()
    wanted = {
        op["operationId"] for methods in document["paths"].values() for op in methods.values()
    }
    shown = set(page.eval_on_selector_all("article[id]", "all => all.map(one => one.id)"))
    assert wanted <= shown
    assert foreign == []
    visitor.keep("desktop-9-docs")
