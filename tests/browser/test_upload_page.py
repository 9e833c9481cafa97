"""Photos in: what the page shows while they are sent, processed, refused and retried."""

import re

import pytest
from playwright.sync_api import expect

from shared.domain.draft import DraftStatus
from tests.api.service import PHOTOS, running

STATUS = re.compile(r"/wardrobe/drafts/status")
UPLOAD = re.compile(r"/wardrobe/drafts$")
LIST = re.compile(r"/wardrobe/drafts\?")
HELD = {
    "json": {
        "status": 409,
        "code": "IDEMPOTENCY_KEY_IN_FLIGHT",
        "detail": "Held.",
        "retryable": True,
    },
    "headers": {"Retry-After": "0.05"},
}


@pytest.fixture
def cut_photo(tmp_path):
    """A photo that was cut off: its head is fine, its end is missing."""
    path = tmp_path / "cut.jpg"
    path.write_bytes(PHOTOS[0].read_bytes()[:9000])
    return path


@pytest.fixture
def no_photo(tmp_path):
    path = tmp_path / "letter.txt"
    path.write_text("This is no picture.")
    return path


@pytest.mark.parametrize("width", ["desktop", "phone"])
def test_ten_files_in_one_bad_one_no_photo(visit, width, cut_photo, no_photo):
    """Previews at once, tiles that move, reasons for the two that fail, all accepted at the end."""
    visitor = visit(width)
    page = visitor.page
    visitor.keep(f"{width}-1-empty")
    visitor.choose(*PHOTOS[:8], cut_photo, no_photo)
    expect(page.locator(".tile")).to_have_count(10)
    expect(page.locator('.tile img[src^="blob:"]').first).to_be_visible()
    visitor.wait_for("Rejected", 1)
    visitor.keep(f"{width}-2-processing")
    visitor.wait_for("Ready", 8)
    visitor.wait_for("Failed", 1)
    expect(page.get_by_text("This is not a photo we can read.")).to_be_visible()
    expect(page.get_by_text("The photo is damaged or incomplete.")).to_be_visible()
    expect(page.locator("#counts")).to_have_text("8 to review · 2 with a problem")
    expect(page.locator(".tile img.cutout").first).to_be_visible()
    visitor.keep(f"{width}-3-ready")
    page.get_by_role("button", name="Accept all 8 ready").click()
    visitor.wait_for("Accepted", 8)
    visitor.keep(f"{width}-4-accepted")
    listed = visitor.api.get("/wardrobe/drafts", params={"status": "Accepted"}).json()["drafts"]
    assert len(listed) == 8


def test_refresh_in_mid_way_loses_nothing(visit):
    """What is processing goes on, and the page finds it again."""
    visitor = visit()
    visitor.choose(*PHOTOS[:3])
    visitor.wait_for("Sending", 0)
    visitor.page.reload()
    expect(visitor.page.locator(".tile")).to_have_count(3)
    visitor.wait_for("Ready", 3)


def test_failed_photo_is_retried(visit):
    """Its reason stands on the tile, and one click brings it to the end."""
    visitor = visit()
    draft = visitor.service.ready(visitor.api)
    visitor.service.fail(visitor.owner, draft["id"])
    visitor.page.reload()
    expect(visitor.page.get_by_text("It failed.")).to_be_visible()
    visitor.keep("desktop-5-failed")
    visitor.page.get_by_role("button", name=re.compile("Try again")).click()
    visitor.wait_for("Ready", 1)
    assert visitor.api.get(f"/wardrobe/drafts/{draft['id']}").json()["retryCount"] == 1


def test_photo_that_can_never_work_has_no_retry(visit):
    """Only deleting is left."""
    visitor = visit()
    draft = visitor.service.ready(visitor.api)
    visitor.service.fail(visitor.owner, draft["id"], retryable=False)
    visitor.page.reload()
    visitor.wait_for("Failed", 1)
    assert visitor.page.get_by_role("button", name=re.compile("Try again")).count() == 0


class Clock:
    """The clock of a page, and how often the page asked for states."""

    def __init__(self, page):
        self.page, self.asked = page, 0
        page.on("request", self._count)
        page.clock.install(time=0)

    def _count(self, request):
        self.asked += bool(STATUS.search(request.url))

    def pass_(self, seconds):
        """Calls to which the time led are counted: a later one has its answer."""
        self.page.clock.run_for(round(seconds * 1000))
        self.page.evaluate("fetch(document.body.dataset.base + '/health/live')")


def test_page_asks_only_while_something_is_processing(visit):
    """No status call before, and none after."""
    visitor = visit(at_once=False)
    clock = Clock(visitor.page)
    visitor.page.goto(f"{visitor.service.host.base_url}/app")
    expect(visitor.page.locator("#empty")).to_be_visible()
    clock.pass_(600)
    assert clock.asked == 0
    visitor.choose(PHOTOS[0])
    visitor.wait_for("Ready", 1)
    asked = clock.asked
    assert asked > 0
    clock.pass_(600)
    assert clock.asked == asked


@pytest.fixture
def told(visit):
    """`told(7, hidden=True)` is the clock, which stands, of a page told to ask again in 7 s."""

    def open_page(seconds, *, hidden):
        visitor = visit(at_once=False)
        page, clock = visitor.page, Clock(visitor.page)
        page.add_init_script(
            f"window.unseen = {str(hidden).lower()};"
            "Object.defineProperty(document, 'hidden', {get: () => window.unseen});"
        )
        draft_id = visitor.service.place(visitor.owner, status=DraftStatus.PROCESSING).id
        draft = visitor.api.get(f"/wardrobe/drafts/{draft_id}").json()
        moved = draft | {"attempts": 1, "stage": "Rendered"}
        answer = {"drafts": [moved], "retryAfterSeconds": seconds}
        page.route(STATUS, lambda route: route.fulfill(json=answer))
        page.clock.pause_at(1)
        page.goto(f"{visitor.service.host.base_url}/app")
        expect(page.locator(".tile")).to_have_count(1)
        clock.pass_(0.001)
        expect(page.get_by_text("Reading colours")).to_be_visible()
        assert clock.asked == 1
        return clock

    return open_page


@pytest.mark.parametrize(
    ("seconds", "hidden", "waits"), [(7, False, 7), (2, True, 15), (7, True, 28), (30, True, 60)]
)
def test_page_asks_no_sooner_than_it_was_told(told, seconds, hidden, waits):
    """Where nobody sees it four times as long, but from fifteen seconds to a minute."""
    clock = told(seconds, hidden=hidden)
    clock.pass_(waits - 0.001)
    assert clock.asked == 1
    clock.pass_(0.001)
    assert clock.asked == 2


def test_page_that_is_seen_again_asks_at_once(told):
    """It waits no longer than it takes to look at it."""
    clock = told(7, hidden=True)
    clock.page.evaluate(
        "window.unseen = false; document.dispatchEvent(new Event('visibilitychange'))"
    )
    clock.pass_(0.001)
    assert clock.asked == 2


def test_lost_connection_is_told_and_mended(visit):
    """A notice while the line is down; it goes when the line is back."""
    visitor = visit()
    page = visitor.page
    page.route(STATUS, lambda route: route.abort())
    visitor.choose(PHOTOS[0])
    expect(page.locator("#notice")).to_contain_text("connection is lost")
    page.unroute(STATUS)
    visitor.wait_for("Ready", 1)
    expect(page.locator("#notice")).to_be_hidden()


def answer_first(page, *answers):
    """These answers to the first uploads, the service's own after them; the keys that were sent."""
    keys = []

    def fulfill(route):
        if route.request.method == "POST":
            keys.append(route.request.headers["idempotency-key"])
            if len(keys) <= len(answers):
                route.fulfill(**answers[len(keys) - 1])
                return
        route.fallback()

    page.route(UPLOAD, fulfill)
    return keys


def test_upload_that_is_refused_for_now_is_sent_again(visit):
    """429: the page waits as told and sends the same request, under the same key."""
    visitor = visit()
    problem = {"status": 429, "code": "RATE_LIMITED", "detail": "Too many.", "retryable": True}
    busy = {"status": 429, "json": problem, "headers": {"Retry-After": "1"}}
    keys = answer_first(visitor.page, busy)
    visitor.choose(PHOTOS[0])
    expect(visitor.page.locator("#notice")).to_contain_text(
        "Too many. The photos are sent again in 1 s."
    )
    visitor.wait_for("Ready", 1)
    assert len(set(keys)) == 1


@pytest.mark.parametrize(
    ("status", "body"), [(500, ""), (503, "Function host is not running."), (429, "")]
)
def test_upload_that_the_host_refuses_is_sent_again(visit, status, body):
    """A lost worker, a host that starts or has too much to do: the same request, the same key."""
    visitor = visit()
    keys = answer_first(visitor.page, {"status": status, "body": body})
    visitor.choose(PHOTOS[0])
    visitor.wait_for("Sending", 0)
    assert visitor.tiles("Rejected") == 0
    assert len(visitor.api.get("/wardrobe/drafts").json()["drafts"]) == 1
    assert (len(keys), len(set(keys))) == (2, 1)


def test_upload_waits_for_a_key_that_a_lost_request_holds(visit):
    """The key is held for two minutes: these answers use up no tries."""
    visitor = visit()
    keys = answer_first(visitor.page, *[{"status": 409} | HELD] * 9)
    visitor.choose(PHOTOS[0])
    visitor.wait_for("Sending", 0)
    assert visitor.tiles("Rejected") == 0
    assert (len(keys), len(set(keys))) == (10, 1)


def test_upload_does_not_wait_for_a_key_for_ever(visit):
    """Once it must be free again, the tries count."""
    visitor = visit(at_once=False)
    page = visitor.page
    page.clock.install()
    page.goto(f"{visitor.service.host.base_url}/app")
    keys = answer_first(page, *[{"status": 409} | HELD] * 999)
    visitor.choose(PHOTOS[0])
    expect(page.locator("#notice")).to_contain_text("Held.")
    page.clock.fast_forward(131_000)
    visitor.wait_for("Rejected", 1)
    assert len(set(keys)) == 1


def test_answer_that_is_lost_makes_no_second_draft(visit):
    """The request arrives, its answer does not: the same key brings the same draft."""
    visitor = visit()
    lost = []

    def lose_first(route):
        if route.request.method == "POST" and not lost:
            lost.append(route.fetch())
            route.abort()
        else:
            route.fallback()

    visitor.page.route(UPLOAD, lose_first)
    visitor.choose(PHOTOS[0])
    visitor.wait_for("Ready", 1)
    assert len(visitor.api.get("/wardrobe/drafts").json()["drafts"]) == 1


def test_list_that_came_at_the_second_try(visit):
    """The button that said so leads to the older photos again."""
    visitor = visit(at_once=False)
    page = visitor.page
    more = page.locator("#more")
    page.route(LIST, lambda route: route.fulfill(json={"drafts": [], "continuation": "x"}))
    page.route(LIST, lambda route: route.abort(), times=1)
    page.goto(f"{visitor.service.host.base_url}/app")
    expect(more).to_have_text("Try again")
    more.click()
    expect(more).to_have_text("Show older")


def test_visitor_who_is_not_signed_in_is_led_there_and_back(visit, azurite):
    """Only where the platform signs people in; the link goes when it knows them."""
    visitor = visit()
    page = visitor.page
    link = page.get_by_role("link", name="Sign in")
    page.route(LIST, lambda route: route.fulfill(status=401, json={}), times=1)
    page.reload()
    expect(page.locator("#notice")).to_contain_text("You are not signed in.")
    expect(link).to_have_count(0)
    with running(azurite, AUTH_MODE="easyauth", WEBSITE_AUTH_ENABLED="true") as app:
        page.goto(f"{app.host.base_url}/app")
        expect(page.locator("#notice")).to_contain_text("You are not signed in.")
        expect(link).to_have_attribute(
            "href", "/.auth/login/aad?post_login_redirect_uri=%2Fapi%2Fapp"
        )
        visitor.keep("desktop-10-sign-in")
        page.set_extra_http_headers({"X-MS-CLIENT-PRINCIPAL-ID": visitor.owner})
        page.get_by_role("button", name="Try again").click()
        expect(page.locator("#empty")).to_be_visible()
        expect(link).to_be_hidden()


def test_changes_are_told_to_screen_readers(visit):
    """A live region says what a tile shows."""
    visitor = visit()
    visitor.choose(PHOTOS[0])
    visitor.wait_for("Ready", 1)
    expect(visitor.page.get_by_role("status")).to_have_text(re.compile("is ready to review.$"))
