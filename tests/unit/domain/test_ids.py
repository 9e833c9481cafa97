"""Ids and keys."""

import hashlib
import uuid

import pytest

from shared.domain import ids

OLDER = "01987654-0000-7000-8000-000000000001"
NEWER = "01987654-0001-7000-8000-000000000001"


def test_draft_id_when_new_is_known_as_one():
    """A new id is a UUID version 7 in lower case and D form."""
    made = ids.new_draft_id()
    assert uuid.UUID(made).version == 7
    assert ids.is_draft_id(made)


@pytest.mark.parametrize(
    "text",
    [
        OLDER.upper().replace("0198", "019A"),
        OLDER.replace("-", ""),
        "{" + OLDER + "}",
        str(uuid.UUID(int=0)),
        "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
        "nope",
        "",
        OLDER + "\n",
    ],
)
def test_draft_id_in_any_other_form_is_unknown(text):
    """Only version 7 in lower case and D form is a draft id."""
    assert not ids.is_draft_id(text)


def test_row_key_of_a_newer_draft_sorts_first():
    """A partition reads newest first, computed from the id alone."""
    assert ids.draft_row_key(NEWER) < ids.draft_row_key(OLDER)
    assert ids.draft_row_key(OLDER) == f"d~{2**48 - 1 - 0x019876540000:012x}~{OLDER}"


@pytest.mark.parametrize("owner", ["a", "A-1", "x" * 64, "hh-1", "H-1"])
def test_owner_key_of_a_safe_id_is_the_id(owner):
    """An id of letters, digits and dashes is its own key."""
    assert ids.owner_key(owner) == owner


@pytest.mark.parametrize("owner", ["h-1", "x" * 65, "a b", "a/b", "jürgen", "a\n", "a~b", "a|b"])
def test_owner_key_of_any_other_id_is_its_hash(owner):
    """An id that is no safe key, or looks like a hash, is hashed."""
    key = ids.owner_key(owner)
    assert key.startswith("h-")
    assert len(key) == 42
    assert int(key[2:], 16) >= 0


@pytest.mark.parametrize("owner", ["", " ", "x" * 129, "a\tb", "\ud800", "ü" * 65])
def test_owner_id_that_no_message_can_carry_is_refused(owner):
    """Empty, long and unprintable owner ids are refused before anything is stored."""
    assert not ids.is_owner_id(owner)


def test_idempotency_key_never_shows_in_its_row_key():
    """A row key holds the key's SHA-256."""
    assert ids.idempotency_row_key("a/b#c?") == ids.idempotency_row_key("a/b#c?")
    assert ids.idempotency_row_key("x") == f"k~{hashlib.sha256(b'x').hexdigest()}"


def test_names_in_storage_are_those_of_the_contract():
    """Rows and blobs are found by their names alone, by this version and by every later one."""
    assert ids.event_row_key(OLDER, 7) == f"e~{OLDER}~000007"
    assert ids.raw_blob("owner", OLDER) == f"owner/{OLDER}/raw"
    assert ids.run_prefix("owner", OLDER, 2, 3) == f"owner/{OLDER}/2-3/"
