"""Rows and values."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.domain.draft import (
    Draft,
    DraftError,
    ImageUse,
    Metadata,
    Pictures,
    RawPhoto,
    Work,
)
from shared.domain.pictures import Box, Caution, Color, Rendition, Segmentation
from shared.records.codec import from_values, to_values
from tests.factories import DRAFT_ID, make_draft, make_work
from tests.fakes import NOW

FULL = make_draft(
    lease_id="run",
    lease_expires_at=NOW,
    error=DraftError(code="X", detail="ü", retryable=True, failed_at=NOW),
    pictures=Pictures(
        segmentation=Segmentation.APPLIED,
        mask="m",
        box=Box(left=1, top=2, width=3, height=4),
        confidence=0.5,
        renditions={"thumb": Rendition(blob="b", width=1, height=2, size=3_000_000_000)},
    ),
    metadata=Metadata(
        colors=(Color(name="Red", hex="#ff0000", share=0.25),), edited=frozenset({"title"})
    ),
    warnings=(Caution.SMALL_SOURCE,),
    use=ImageUse.ORIGINAL,
    due_at=NOW + timedelta(microseconds=1),
    unsent_since=3,
)


def test_draft_with_every_part_reads_back_as_it_was():
    """Every nested value, enum and time survives the row."""
    values = to_values(FULL, leave_out=frozenset({"etag"}))
    assert from_values(Draft, values, etag="e1") == replace(FULL, etag="e1")


def test_text_that_would_not_read_back_is_not_written():
    """Half a character would make the row unreadable for ever."""
    draft = make_draft(metadata=Metadata(title="Tee \ud83d"))
    with pytest.raises(ValueError, match="hex escape"):
        to_values(draft)


def test_row_leaves_out_what_is_null():
    """Null is an absent column."""
    values = to_values(make_draft(work=None))
    assert "work" not in values
    assert "error" not in values


def test_row_with_unknown_columns_is_read():
    """A column of a later version does not stop this one."""
    values = to_values(make_draft()) | {"futureColumn": "x"}
    assert from_values(Draft, values, etag="") == make_draft()


@given(st.text(), st.text())
def test_texts_of_people_survive(name, title):
    """File names and titles with any characters, JSON-looking ones too, read back the same."""
    draft = make_draft(file_name=name or None, metadata=Metadata(title=title, notes='{"a":1}'))
    assert from_values(Draft, to_values(draft), etag="") == draft


def test_columns_carry_the_names_of_the_contract():
    """camelCase column names that other tools filter on."""
    values = to_values(FULL)
    assert {"ownerId", "status", "leaseId", "leaseExpiresAt", "dueAt", "generation"} <= set(values)
    assert isinstance(make_work(), Work)
    assert isinstance(FULL.raw, RawPhoto)


@pytest.mark.parametrize("share", [float("nan"), float("inf")])
def test_number_that_is_none_is_never_stored(share):
    """NaN never reaches a row, where it would make every answer about the draft fail."""
    metadata = Metadata(colors=(Color(name="Red", hex="#ff0000", share=share),))
    with pytest.raises(ValueError, match="JSON"):
        to_values(make_draft(metadata=metadata))
    with pytest.raises(ValueError, match="finite"):
        to_values(Color(name="Red", hex="#ff0000", share=share))


BARE = "2026-08-01T12:00:00"
WORK = '{"reason":"initial","started_at":"2026-08-01T11:00:00Z","queued_at":"%s"}'


@pytest.mark.parametrize(
    ("column", "bare"), [("createdAt", BARE), ("leaseExpiresAt", BARE), ("work", WORK % BARE)]
)
def test_time_without_its_zone_is_not_read(column, bare):
    """Nobody can compare it: the row is damaged, however deep it lies."""
    values = to_values(make_draft())
    with pytest.raises(ValueError, match="timezone"):
        from_values(Draft, values | {column: bare})
    zoned = bare.replace(BARE, f"{BARE}+02:00")
    assert from_values(Draft, values | {column: zoned}).id == DRAFT_ID


@pytest.mark.parametrize(
    ("column", "damaged"),
    [
        ("raw", '{"blob":"jane-doe/1/raw","size":"jane-doe"}'),
        ("metadata", '{"title":"jane-doe","colors":[{"name":"jane-doe"}]}'),
        ("metadata", '{"title":"jane-doe'),
        ("fileName", 7.5),
        ("status", "jane-doe"),
    ],
)
def test_error_of_a_damaged_row_quotes_nothing_of_it(column, damaged):
    """The worker raises it, and the host logs it: owners, names and notes are nobody's there."""
    values = to_values(make_draft())
    with pytest.raises(ValueError, match="validation error") as caught:
        from_values(Draft, values | {column: damaged})
    assert "jane-doe" not in str(caught.value)
    assert "input_value" not in str(caught.value)
