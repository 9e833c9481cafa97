"""POST wardrobe/drafts: what is accepted, what is refused, and with which words."""

import hashlib
import json
import tracemalloc
from datetime import timedelta

import pytest

from shared.api.exchange import Request
from shared.api.forms import read_form
from shared.domain.draft import DraftStatus, WorkReason
from shared.domain.ids import draft_row_key, is_draft_id
from shared.domain.messages import JobMessage
from shared.telemetry import trace_id
from tests.unit.api.calling import BASE, form, photo

JPEG = photo()


def stored(world):
    return [row for (_, key), row in world.drafts.rows.items() if key.startswith("d~")]


def test_upload_of_one_photo_is_accepted(caller):
    """The answer names the draft, where to ask for it and how soon."""
    reply = caller.upload(("shirt.jpg", JPEG))
    [draft] = reply.json["drafts"]
    assert reply.status == 202
    assert is_draft_id(draft["id"])
    assert reply.headers["location"] == reply.json["statusUrl"]
    assert reply.json["statusUrl"] == f"{BASE}/wardrobe/drafts/status?ids={draft['id']}"
    assert (reply.headers["retry-after"], reply.json["retryAfterSeconds"]) == ("2", 2)
    assert reply.headers["cache-control"] == "no-store"
    assert (draft["status"], draft["stage"], draft["attempts"]) == ("Processing", "Uploaded", 0)


def test_upload_stores_the_bytes_as_they_came(caller, world):
    """The original is what was sent, under ids of ours."""
    [draft] = caller.upload(("shirt.jpg", JPEG)).json["drafts"]
    [(name, (data, content_type, _))] = world.uploads.stored.items()
    assert name == f"owner-1/{draft['id']}/raw"
    assert hashlib.sha256(data).digest() == hashlib.sha256(JPEG).digest()
    assert content_type == "image/jpeg"


def test_upload_asks_for_a_run_by_row_and_message(caller, world):
    """The row wants the run that the message names, with the ETag of the stored bytes."""
    [shown] = caller.upload(("a.jpg", JPEG)).json["drafts"]
    draft = world.deps.store.find("owner-1", shown["id"])
    [(text, delay)] = world.jobs.sent
    message = JobMessage.parse(text.encode())
    assert draft.work.reason is WorkReason.INITIAL
    assert draft.raw.etag == world.uploads.stored[draft.raw.blob][2]
    assert (message.draft_id, message.generation, delay) == (draft.id, 1, timedelta(0))
    assert message.traceparent == draft.work.traceparent


def test_upload_keeps_the_trace_of_the_request(caller, world):
    """A run can be followed from the request that asked for it."""
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    caller.upload(("a.jpg", JPEG), headers={"traceparent": trace})
    assert JobMessage.parse(world.jobs.sent[0][0].encode()).traceparent == trace


@pytest.mark.parametrize(
    "sent",
    [
        "00-" + "a" * 5000 + "-b-01",
        "00-owner@example.org-b-01",
        "00-" + "A" * 32 + "-b-01",
        "no-trace",
    ],
)
def test_upload_with_a_trace_that_is_none_gets_its_own(caller, world, sent):
    """What a caller makes up goes into no message, which stays under 1 KB, and into no line."""
    caller.upload(("a.jpg", JPEG), headers={"traceparent": sent})
    [(text, _)] = world.jobs.sent
    assert len(text) < 1024
    assert trace_id(JobMessage.parse(text.encode()).traceparent)
    assert sent not in str(stored(world))


def test_upload_of_several_files_makes_one_draft_each(caller, world):
    """Ten files are ten drafts, in the order of the files, in one transaction."""
    files = [(f"{n}.jpg", photo(size=(60 + n, 80))) for n in range(10)]
    reply = caller.upload(*files)
    assert [item["fileName"] for item in reply.json["drafts"]] == [name for name, _ in files]
    assert len({item["id"] for item in reply.json["drafts"]}) == 10
    assert world.faults.calls.count("drafts.transact") == 2  # the upload window, and all drafts
    assert len(world.jobs.sent) == 10


def test_upload_judges_each_file_by_itself(caller):
    """A refused file is an item in its place; the others are accepted."""
    reply = caller.upload(("a.jpg", JPEG), ("b.jpg", b"nothing"), ("c.jpg", JPEG))
    first, second, third = reply.json["drafts"]
    assert second == {
        "status": "Rejected",
        "fileName": "b.jpg",
        "error": {
            "code": "UNSUPPORTED_FORMAT",
            "detail": second["error"]["detail"],
            "retryable": False,
        },
    }
    assert (first["fileName"], third["fileName"]) == ("a.jpg", "c.jpg")
    assert reply.headers["location"].endswith(f"?ids={first['id']},{third['id']}")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "EMPTY_FILE"),
        (b"x" * 10_000_001, "FILE_TOO_LARGE"),
        (b"%PDF-1.7", "UNSUPPORTED_FORMAT"),
        (JPEG[:40], "CORRUPT_IMAGE"),
        (photo(size=(15, 400)), "IMAGE_TOO_SMALL"),
        (photo(size=(16_001, 20)), "IMAGE_TOO_LARGE"),
    ],
)
def test_upload_where_no_file_can_be_used(caller, world, data, code):
    """The only file refused: 422 with the same items, and nothing stored or sent."""
    reply = caller.upload(("a.jpg", data))
    assert (reply.status, reply.code) == (422, "NO_FILE_ACCEPTED")
    assert [item["error"]["code"] for item in reply.json["drafts"]] == [code]
    assert (stored(world), world.uploads.stored, world.jobs.sent) == ([], {}, [])


def test_upload_without_any_file(caller):
    """A form without a file is refused with no items."""
    reply = caller.upload()
    assert (reply.status, reply.code, reply.json["drafts"]) == (422, "NO_FILE_ACCEPTED", [])


def test_upload_of_too_many_files(caller, world):
    """Eleven files are refused as a whole."""
    reply = caller.upload(*[("a.jpg", JPEG)] * 11)
    assert (reply.status, reply.code) == (422, "TOO_MANY_FILES")
    assert stored(world) == []


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (b"x" * 10_000_001, 413, "FILE_TOO_LARGE"),
        (b"GIF87", 415, "UNSUPPORTED_FORMAT"),
        (JPEG[:40], 400, "CORRUPT_IMAGE"),
    ],
)
def test_raw_body_that_cannot_be_used(caller, data, status, code):
    """A raw body is refused in its own name."""
    reply = caller.ask("create_drafts", body=data, headers={"content-type": "image/png"}, run=None)
    assert (reply.status, reply.code) == (status, code)


def test_raw_body_that_is_empty(caller):
    """No byte at all is an empty file."""
    headers = {"content-type": "image/png", "content-length": "0"}
    reply = caller.ask("create_drafts", headers=headers, run=None)
    assert (reply.status, reply.code) == (400, "EMPTY_FILE")


@pytest.mark.parametrize("sent_as", ["image/jpeg", "image/png", "application/octet-stream"])
def test_raw_body_is_one_draft_of_its_real_format(caller, world, sent_as):
    """The bytes decide, whatever the content type says."""
    headers = {"content-type": sent_as}
    reply = caller.ask("create_drafts", body=photo("PNG"), headers=headers, run=None)
    [item] = reply.json["drafts"]
    [(_, content_type, _)] = world.uploads.stored.values()
    assert (reply.status, item["fileName"], content_type) == (202, None, "image/png")


def test_raw_body_takes_its_wishes_from_the_query(caller, world):
    """A raw body has no fields: name and switch stand in the query."""
    query = {"skipSegmentation": "true", "fileName": "hat.png"}
    reply = caller.ask(
        "create_drafts",
        body=JPEG,
        headers={"content-type": "image/jpeg"},
        query=query,
        run=None,
    )
    [item] = reply.json["drafts"]
    assert (item["skipSegmentation"], item["fileName"]) == (True, "hat.png")


@pytest.mark.parametrize(
    ("text", "value"), [("true", True), ("TRUE", True), ("1", True), ("false", False), ("", False)]
)
def test_upload_that_skips_segmentation(caller, world, text, value):
    """The switch goes to the row and into the message."""
    [item] = caller.upload(("a.jpg", JPEG), fields={"skipSegmentation": text}).json["drafts"]
    message = JobMessage.parse(world.jobs.sent[0][0].encode())
    assert (item["skipSegmentation"], message.skip_segmentation) == (value, value)


def test_upload_with_a_switch_that_is_neither(caller):
    """A wrong value is named, not guessed."""
    reply = caller.upload(("a.jpg", JPEG), fields={"skipSegmentation": "maybe"})
    assert (reply.status, reply.code) == (400, "VALIDATION")
    assert [fault["field"] for fault in reply.json["errors"]] == ["skipSegmentation"]


@pytest.mark.parametrize(
    "name",
    ["żółta bluzka.jpg", "套装 👗.jpg", "(R)®.jpg", "a'b;c=d.jpg", "n" * 300 + ".jpg", "a/b.jpg"],
)
def test_upload_keeps_the_file_name_exactly(caller, world, name):
    """Any name comes back as it was sent and stands in no blob name."""
    [item] = caller.upload((name, JPEG)).json["drafts"]
    assert item["fileName"] == name
    [blob] = world.uploads.stored
    assert blob == f"owner-1/{item['id']}/raw"


def test_upload_with_quotes_and_line_breaks_in_the_name(caller):
    """Browsers write these as percent codes; the name is the one that was chosen."""
    body = (
        b"--X\r\n"
        b'Content-Disposition: form-data; name="f"; filename="a%22b%0D%0Ac.jpg"\r\n\r\n'
        + JPEG
        + b"\r\n--X--\r\n"
    )
    headers = {"content-type": "multipart/form-data; boundary=X"}
    [item] = caller.ask("create_drafts", body=body, headers=headers, run=None).json["drafts"]
    assert item["fileName"] == 'a"b\r\nc.jpg'


@pytest.mark.parametrize(
    ("sent", "name"),
    [
        (b"filename=\"=?utf-8?B?xbzDs8WCdGEuanBn?=\"; filename*=utf-8''%C5%BC%C3%B3%C5%82ta.jpg",
         "żółta.jpg"),
        (b"filename*=UTF-8''%C5%BC%C3%B3%C5%82ta.jpg", "żółta.jpg"),
        (b"filename*=iso-8859-1'de'%FCber%2522.jpg", "über%22.jpg"),
        (b"filename=a.jpg; filename*=utf-8''", "a.jpg"),
        (b"filename=a.jpg; filename*=utf-8''%FF", "a.jpg"),
        (b"filename=a.jpg; filename*=klingon''b.jpg", "a.jpg"),
        (b'filename="x; filename*=utf-8\'\'b.jpg"', "x; filename*=utf-8''b.jpg"),
    ],
)  # fmt: skip
def test_upload_with_an_extended_file_name(caller, sent, name):
    """.NET garbles `filename` and says it in `filename*`; older Python clients send that alone."""
    body = (
        b"--X\r\nContent-Disposition: form-data; name=f; " + sent + b"\r\n\r\n" + JPEG
    ) + b"\r\n--X--\r\n"
    headers = {"content-type": "multipart/form-data; boundary=X"}
    reply = caller.ask("create_drafts", body=body, headers=headers, run=None)
    assert reply.status == 202
    assert [item["fileName"] for item in reply.json["drafts"]] == [name]


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"--X\r\nrubbish", "multipart/form-data; boundary=X"),
        (form(("a.jpg", JPEG))[0], "multipart/form-data; boundary=other"),
        (form(("a.jpg", JPEG))[0], "multipart/form-data"),
        (form(("a.jpg", JPEG))[0][:-30], "multipart/form-data; boundary=X"),
        (b"\xff\xfe" * 40, 'multipart/form-data; boundary="X"'),
        (
            b'--X\r\nContent-Disposition: form-data; name="skipSegmentation"\r\n\r\n\xff\xff\r\n'
            b"--X--\r\n",
            "multipart/form-data; boundary=X",
        ),
        *(
            (
                b'--X\r\nContent-Disposition: form-data; name="skipSegmentation"\r\n'
                b"Content-Type: text/plain; charset=" + charset + b"\r\n\r\ntrue\r\n--X--\r\n",
                "multipart/form-data; boundary=X",
            )
            for charset in (b"undefined", b"nonsense", b"hex")
        ),
    ],
)
def test_upload_with_a_broken_body(caller, world, body, content_type):
    """Broken multipart is the caller's fault, and nothing of it is kept."""
    reply = caller.ask("create_drafts", body=body, headers={"content-type": content_type}, run=None)
    assert (reply.status, reply.code) == (400, "INVALID_REQUEST")
    assert stored(world) == []


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json", "imagejpeg"])
def test_upload_as_something_else(caller, content_type):
    """Only forms and pictures are taken."""
    reply = caller.ask("create_drafts", body=JPEG, headers={"content-type": content_type}, run=None)
    assert (reply.status, reply.code) == (415, "UNSUPPORTED_MEDIA_TYPE")


def test_upload_without_a_length(caller):
    """A body without Content-Length does not reach us whole."""
    headers = {"content-type": "image/jpeg", "transfer-encoding": "chunked"}
    reply = caller.ask("create_drafts", headers=headers, run=None)
    assert (reply.status, reply.code) == (411, "LENGTH_REQUIRED")


def test_upload_that_is_too_large(caller, world):
    """Over 102 MB is refused by its announced length, before the window counts it."""
    headers = {"content-type": "image/jpeg", "content-length": "102000001"}
    reply = caller.ask("create_drafts", body=b"x", headers=headers, run=None)
    assert (reply.status, reply.code) == (413, "BODY_TOO_LARGE")
    assert world.drafts.rows == {}


def test_upload_that_is_as_large_as_it_may_be(caller):
    """Exactly 102 MB pass the gate and are judged by what they are."""
    headers = {"content-type": "image/jpeg", "content-length": "102000000"}
    reply = caller.ask("create_drafts", body=b"x", headers=headers, run=None)
    assert reply.code == "UNSUPPORTED_FORMAT"


def test_upload_tells_the_log_without_names(caller, caplog):
    """The line has numbers and ids, never a file name or a plain owner."""
    caplog.set_level("INFO")
    caller.upload(("secret-name.jpg", JPEG))
    [line] = [json.loads(r.message) for r in caplog.records if "draft_accepted" in r.message]
    assert (line["source"], line["sizeBytes"]) == ("upload", len(JPEG))
    assert "secret-name" not in caplog.text
    assert "owner-1" not in caplog.text


def test_upload_is_held_once_beside_its_body():
    """Requests of a hundred megabytes meet in one process: no third copy of them."""
    body, content_type = form(*[("a.jpg", JPEG + bytes(1_000_000))] * 10)
    headers = {"content-type": content_type, "content-length": str(len(body))}
    request = Request(method="POST", url=BASE, body=body, headers=headers)
    tracemalloc.start()
    held = read_form(request)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(held.files) == 10
    assert peak < 1.5 * len(body)


def test_upload_is_processing_until_a_run_ends_it(caller, world):
    """Accepting makes a draft that the repair would find, should its message be lost."""
    [shown] = caller.upload(("a.jpg", JPEG)).json["drafts"]
    draft = world.deps.store.find("owner-1", shown["id"])
    assert draft.status is DraftStatus.PROCESSING
    assert draft.due_at == draft.work.queued_at + timedelta(minutes=3)
    assert [key for _, key in world.due.rows] == [f"owner-1~{draft_row_key(draft.id)}"]


def test_upload_of_a_picture_without_any_name(caller):
    """A part is a file by its type too; its draft has no name."""
    body = (
        b'--X\r\nContent-Disposition: form-data; name="files"\r\nContent-Type: image/jpeg\r\n\r\n'
        + JPEG
        + b"\r\n--X--\r\n"
    )
    headers = {"content-type": "multipart/form-data; boundary=X"}
    [item] = caller.ask("create_drafts", body=body, headers=headers, run=None).json["drafts"]
    assert (item["status"], item["fileName"]) == ("Processing", None)
