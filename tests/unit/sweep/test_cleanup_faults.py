"""The cleanup where something is damaged or away: it is counted, told, and the rest goes on."""

from dataclasses import replace

from cleanup_abandoned_drafts.handler import CLEANUP
from cleanup_abandoned_drafts.repair import REPAIR
from shared.deleting import delete_draft
from shared.domain.errors import ConflictError, StorageUnavailableError
from shared.domain.ids import draft_row_key, inverted
from shared.jobs import Tick, run
from shared.ports import Row
from shared.records.idempotency import IdempotencyKeys
from shared.records.jobruns import Outcome
from shared.settings import Settings
from tests.factories import OWNER, make_world
from tests.fakes import NOW
from tests.invariants import drafts_of
from tests.unit.api.failing import at
from tests.unit.sweep.found import failed, many_failed, many_letters, started


def test_deletion_that_breaks_off_at_the_history_keeps_the_row(world, clean_up):
    """The row goes last, so that what is left of a draft can be found by it."""
    draft = failed(world)
    world.faults.before = at("drafts.transact", skip=1)  # the first one is the tombstone
    delete_draft(draft, world.deps)
    [tombstone] = drafts_of(world)
    assert tombstone.deleted_at == NOW
    world.clock.pass_(minutes=15)
    clean_up()
    assert world.drafts.rows == {}


def test_blob_that_cannot_be_deleted_is_left_for_the_next_night(world, clean_up, caplog):
    """The rest goes on; the tombstone stays until its blobs are gone."""
    many_failed(world, 2)
    world.clock.pass_(days=8)

    def refuse(call):
        if call == "images.delete":
            world.faults.before = lambda call: None
            raise StorageUnavailableError(unknown=False)

    world.faults.before = refuse
    report = clean_up()
    assert (report.purged, report.failed_blob_deletions) == (1, 1)
    assert report.outcome is Outcome.PARTIAL
    assert "blob_delete_failed" in caplog.text
    [tombstone] = drafts_of(world)
    assert tombstone.deleted_at is not None
    assert world.deps.store.find(OWNER, tombstone.id) is None
    world.clock.pass_(days=1)
    assert clean_up().purged == 1
    assert (drafts_of(world), world.images.stored) == ([], {})


def test_blob_that_somebody_has_leased_is_counted(world, clean_up):
    """A lease on a blob is no reason to stop."""
    failed(world)
    world.clock.pass_(days=8)

    def refuse(call):
        if call == "uploads.delete":
            raise ConflictError

    world.faults.before = refuse
    assert clean_up().failed_blob_deletions == 1


def test_row_that_is_damaged_does_not_stop_the_rest(world, clean_up, caplog):
    """It is counted and told; the others are handled."""
    damaged, _, _ = many_failed(world, 3)
    world.damage(damaged)
    world.clock.pass_(days=8)
    report = clean_up()
    assert (report.purged, report.failed_rows) == (2, 1)
    assert f'"draftId":"{damaged.id}"' in caplog.text


def test_entry_that_is_damaged_does_not_stop_the_rest(world, clean_up, caplog):
    """It is counted and told, and lies where it was for a person to mend."""
    many_failed(world, 2)
    world.due.put(Row("2026080100-0", f"{OWNER}~d~0~damaged", {"dueAt": "2026-08-01T00:00:00Z"}))
    world.clock.pass_(days=8)
    report = clean_up()
    assert (report.purged, report.failed_rows, report.outcome) == (2, 1, Outcome.PARTIAL)
    assert '"draftId":"damaged"' in caplog.text
    assert ("2026080100-0", f"{OWNER}~d~0~damaged") in world.due.rows


def test_key_without_its_time_goes_with_its_entry(world, clean_up):
    """The entry's time is the longest that a key is kept."""
    keys = IdempotencyKeys(world.deps.drafts_table, world.deps.due)
    row = keys.begin(OWNER, "key", "print", world.clock()).row
    world.drafts.put(replace(row, values={"state": "Done"}))
    many_failed(world, 2)
    world.clock.pass_(days=8)
    report = clean_up()
    assert (report.purged, report.failed_rows) == (2, 0)
    assert (row.partition, row.key) not in world.drafts.rows


def test_event_without_its_number_does_not_stop_the_rest():
    """The history of one draft is damaged: it is counted, the others are handled."""
    world = make_world(settings=Settings(auth_mode="local", events_queue_enabled=True))
    world.faults.before = at("events.send", times=2)
    damaged, _ = many_failed(world, 2)
    for key, row in world.drafts.rows.items():
        if key[1].startswith(f"e~{damaged.id}"):
            values = {name: value for name, value in row.values.items() if name != "seq"}
            world.drafts.rows[key] = replace(row, values=values)
    world.clock.pass_(minutes=5)
    assert run(REPAIR, Tick(), world.deps).report.failed_rows == 1
    assert sum(draft.unsent_since is None for draft in drafts_of(world)) == 1


def test_damaged_records_are_dropped_when_they_are_old(world, clean_up):
    """The key of a letter or a run holds its time; what else is old goes with them."""
    many_letters(world, 2)
    for table, partition in ((world.letters, "2026-08"), (world.deps.jobruns_table, CLEANUP.name)):
        key = f"{inverted(NOW)}~damaged"
        table.put(Row(partition, key, {"at": "long ago"}))
    clean_up()
    assert (len(world.letters.rows), len(started(world))) == (3, 1)
    world.clock.pass_(days=91)
    assert clean_up().outcome is Outcome.SUCCESS
    assert (world.letters.rows, len(world.deps.jobruns_table.rows)) == ({}, 1)


def test_time_without_its_zone_does_not_stop_the_rest(world, clean_up):
    """A row that somebody migrated by hand is damaged like any other."""
    bare, _, _ = many_failed(world, 3)
    key = (bare.owner_key, draft_row_key(bare.id))
    row = world.drafts.rows[key]
    error = row.values["error"].replace("Z", "")
    world.drafts.rows[key] = replace(row, values={**row.values, "error": error})
    world.clock.pass_(days=8)
    report = clean_up()
    assert (report.purged, report.failed_rows) == (2, 1)


def test_letters_that_somebody_else_drops_are_no_failure(world, clean_up):
    """Two cleanups at once: one of them meets rows that are gone."""
    many_letters(world, 1)
    world.clock.pass_(days=31)

    def first(call):
        if call == "deadletters.transact":
            world.faults.before = lambda call: None
            clean_up()

    world.faults.before = first
    assert clean_up().outcome is Outcome.SUCCESS
    assert world.letters.rows == {}
