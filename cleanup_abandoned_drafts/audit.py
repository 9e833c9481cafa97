"""What the due index does not explain: `python -m cleanup_abandoned_drafts.audit`.

Reads both containers, the index and the whole drafts table; no timer does that. The order of
reading makes a finding certain: whoever writes a blob has written its due entry or its row before,
so that what is listed first is explained by what is read later.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from shared.dependencies import Dependencies
from shared.domain.draft import Draft, DraftStatus
from shared.domain.errors import IngestError
from shared.leftovers import remove_blob
from shared.ports import Blobs, Row, Span
from shared.records.codec import from_values
from shared.records.due import DueEntry

OVERDUE = timedelta(days=2)  # a nightly cleanup has looked at it once at least


class Kind(StrEnum):
    """What is wrong."""

    ORPHAN_BLOB = "blob that no row names"
    MISSING_BLOB = "row names a blob that is gone"
    NO_ENTRY = "row that no due entry brings up"
    ORPHAN_EVENT = "event of a draft that is gone"
    OVERDUE_ENTRY = "due entry that no cleanup has handled"
    UNREADABLE_ROW = "row that cannot be read"


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """One thing that the index does not explain."""

    kind: Kind
    what: str  # a container and blob, or a partition and row key
    container: str | None = None  # of an orphan blob


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Storage as it was read: blobs first, then the index, then the rows."""

    uploads: frozenset[str]
    images: frozenset[str]
    entries: Mapping[str, list[DueEntry]]  # by draft id, or by the hash of a key
    drafts: Mapping[str, Draft] = field(default_factory=dict)
    events: Mapping[str, Row] = field(default_factory=dict)  # one of each draft
    unreadable: Mapping[str, Row] = field(default_factory=dict)

    def knows(self, draft_id: str) -> bool:
        """There is a row, or an entry that a row is to follow or that will clear up."""
        return any(draft_id in known for known in (self.drafts, self.entries, self.unreadable))


def audit(deps: Dependencies) -> list[Finding]:
    """Every finding. Raises StorageUnavailableError."""
    seen, names = read(deps), deps.settings
    return [
        *_orphans(seen.uploads, names.uploads_container, seen),
        *_orphans(seen.images, names.images_container, seen),
        *_missing_blobs(seen, deps),
        *_without_entry(seen),
        *_orphan_events(seen),
        *_overdue(seen, deps.clock()),
        *(Finding(kind=Kind.UNREADABLE_ROW, what=_place(row)) for row in seen.unreadable.values()),
    ]


def remove_orphans(findings: Sequence[Finding], deps: Dependencies) -> int:
    """Delete the orphan blobs among them; how many deletions failed."""
    container: dict[str, Blobs] = {
        deps.settings.uploads_container: deps.uploads,
        deps.settings.images_container: deps.images,
    }
    return sum(
        remove_blob(found.what, container[found.container], found.container, _draft_id(found.what))
        for found in findings
        if found.container is not None
    )


def read(deps: Dependencies) -> Snapshot:
    """All there is, in the order that makes findings certain."""
    uploads, images = frozenset(deps.uploads.names("")), frozenset(deps.images.names(""))
    entries: dict[str, list[DueEntry]] = {}
    for entry in deps.due.everything():
        entries.setdefault(entry.draft_id, []).append(entry)
    drafts: dict[str, Draft] = {}
    events: dict[str, Row] = {}
    unreadable: dict[str, Row] = {}
    for row in deps.drafts_table.query(Span()):
        if row.key.startswith("e~"):
            events.setdefault(row.key.split("~")[1], row)
        elif row.key.startswith("d~"):
            try:
                draft = from_values(Draft, row.values, etag=row.etag)
            except ValueError:
                unreadable[row.key.rsplit("~", 1)[-1]] = row
            else:
                drafts[draft.id] = draft
    return Snapshot(
        uploads=uploads,
        images=images,
        entries=entries,
        drafts=drafts,
        events=events,
        unreadable=unreadable,
    )


def _orphans(blobs: frozenset[str], container: str, seen: Snapshot) -> Iterator[Finding]:
    for name in sorted(blobs):
        if not _explained(name, seen):
            yield Finding(kind=Kind.ORPHAN_BLOB, what=name, container=container)


def _explained(blob: str, seen: Snapshot) -> bool:
    """Named by its row, or a run may still be writing it, or an entry will remove it."""
    draft_id = _draft_id(blob)
    draft = seen.drafts.get(draft_id)
    if draft is None:
        return seen.knows(draft_id)
    if draft.work is not None or draft.leftovers or draft.deleted_at is not None:
        return True
    is_raw = blob.endswith("/raw")
    return is_raw or blob in draft.named_blobs()


def _missing_blobs(seen: Snapshot, deps: Dependencies) -> Iterator[Finding]:
    """Looked for once more: a row that was read later may name what was written since."""
    for draft in seen.drafts.values():
        if draft.deleted_at is not None or draft.work is not None:
            continue
        raw = {draft.raw.blob} - seen.uploads if draft.raw else set()
        gone = [name for name in raw if deps.uploads.info(name) is None]
        made = draft.named_blobs() - seen.images
        gone += [name for name in made if deps.images.info(name) is None]
        for name in sorted(gone):
            yield Finding(kind=Kind.MISSING_BLOB, what=name)


def _without_entry(seen: Snapshot) -> Iterator[Finding]:
    for draft in seen.drafts.values():
        if not _has_to_be_looked_at(draft):
            continue
        if not any(_brings_up(entry, draft) for entry in seen.entries.get(draft.id, ())):
            yield Finding(kind=Kind.NO_ENTRY, what=f"{draft.owner_key}/{draft.id}")


def _has_to_be_looked_at(draft: Draft) -> bool:
    ending = draft.status in (DraftStatus.UPLOADING, DraftStatus.FAILED)
    unfinished = draft.work is not None or draft.unfinished or draft.deleted_at is not None
    return ending or unfinished or draft.due_at is not None


def _brings_up(entry: DueEntry, draft: Draft) -> bool:
    """An entry of the same hour is put right by the sweep that reads it."""
    if entry.damaged or draft.due_at is None:
        return False
    return entry.due_at <= draft.due_at + timedelta(hours=1)


def _orphan_events(seen: Snapshot) -> Iterator[Finding]:
    for draft_id, row in seen.events.items():
        if not seen.knows(draft_id):
            yield Finding(kind=Kind.ORPHAN_EVENT, what=_place(row))


def _overdue(seen: Snapshot, now: datetime) -> Iterator[Finding]:
    """Work that waits in a backlog is not overdue, however old."""
    for entry in (entry for entries in seen.entries.values() for entry in entries):
        if entry.due_at < now - OVERDUE and entry.queued_at is None:
            yield Finding(kind=Kind.OVERDUE_ENTRY, what=f"{entry.owner_key}/{entry.row_key}")


def _draft_id(blob: str) -> str:
    parts = blob.split("/")
    return parts[1] if len(parts) > 1 else ""


def _place(row: Row) -> str:
    return f"{row.partition}/{row.key}"


def main(arguments: Sequence[str]) -> int:
    """0 where all is explained, 1 where something is not, 2 where storage cannot be read."""
    from shared.bootstrap import dependencies

    parser = argparse.ArgumentParser(prog="cleanup_abandoned_drafts.audit", description=__doc__)
    parser.add_argument("--remove", action="store_true", help="delete the orphan blobs")
    options = parser.parse_args(arguments)
    try:
        deps = dependencies()
        findings = audit(deps)
        failed = remove_orphans(findings, deps) if options.remove else 0
    except IngestError as error:
        print(f"The audit could not be made: {error}")
        return 2
    for found in findings:
        print(f"{found.kind}: {found.what}")
    print(f"{len(findings)} findings" + (f", {failed} deletions failed" if options.remove else ""))
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
