"""Settings, checked whole."""

from dataclasses import fields

import pytest

from shared.domain.errors import SettingsError
from shared.settings import Settings
from tests.factories import setting_texts
from tests.fakes import NOW


def test_settings_from_an_empty_environment_are_the_defaults():
    """Every setting has a default."""
    assert Settings.from_env({}) == Settings()


def test_settings_faults_are_told_all_at_once():
    """One error names each bad key and what it must be."""
    with pytest.raises(SettingsError) as caught:
        Settings.from_env(
            {
                "LEASE_SECONDS": "ten",
                "MAX_ATTEMPTS": "0",
                "IMAGE_ASYNC_ENABLED": "maybe",
                "SEGMENTER": "magic",
                "EVENTS_WEBHOOK_URL": "example.org",
            }
        )
    text = str(caught.value)
    for name in (
        "LEASE_SECONDS",
        "MAX_ATTEMPTS",
        "IMAGE_ASYNC_ENABLED",
        "SEGMENTER",
        "EVENTS_WEBHOOK_URL",
        "EVENTS_WEBHOOK_SECRET",
    ):
        assert name in text


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"HEARTBEAT_SECONDS": "15"}, "LEASE_SECONDS"),
        ({"SEGMENTER": "remote"}, "PROCESSOR_URL"),
        ({"METADATA_PROVIDER": "openai"}, "OPENAI_ENDPOINT"),
        ({"METADATA_PROVIDER": "magic"}, "METADATA_PROVIDER"),
        ({"GARMENT_CATEGORIES": " , "}, "GARMENT_CATEGORIES"),
        ({"PROCESSOR_URL": "ftp://x"}, "PROCESSOR_URL"),
        ({"PROCESSOR_URL": "http://[::1"}, "PROCESSOR_URL"),
        ({"IMAGE_JOBS_QUEUE": "photos"}, "IMAGE_JOBS_POISON_QUEUE: must be photos-poison"),
        ({"UPLOADS_PER_MINUTE": "-1"}, "UPLOADS_PER_MINUTE"),
        ({"UPLOADS_PER_MINUTE": "8001"}, "UPLOADS_PER_MINUTE: must be 8000 at most"),
        ({"UPLOAD_SAS_MINUTES": "16"}, "UPLOAD_SAS_MINUTES: must be 15 at most"),
        ({"FAILED_TTL_DAYS": "1000001"}, "FAILED_TTL_DAYS"),
        ({"FAILED_TTL_DAYS": "٣"}, "FAILED_TTL_DAYS"),
        ({"AUTH_MODE": "open"}, "AUTH_MODE"),
        ({"CLEANUP_SCHEDULE": "0 0 3 * * 7"}, "CLEANUP_SCHEDULE: must be NCRONTAB: '7' is no day"),
        ({"CLEANUP_SCHEDULE": "@daily"}, "CLEANUP_SCHEDULE: must be NCRONTAB: '@daily' has 1"),
        ({"REPAIR_SCHEDULE": "0 */x * * * *"}, r"REPAIR_SCHEDULE: .* no step for the minute"),
        ({"REPAIR_SCHEDULE": "00:05:00"}, "REPAIR_SCHEDULE: must be NCRONTAB"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(environment, named):
    """A check across settings names the one to mend."""
    with pytest.raises(SettingsError, match=named):
        Settings.from_env(environment)


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"UPLOADS_CONTAINER": "Photos"}, "UPLOADS_CONTAINER: must have"),
        ({"IMAGES_CONTAINER": "my--images"}, "IMAGES_CONTAINER: must have"),
        ({"EVENTS_QUEUE": "q"}, "EVENTS_QUEUE: must have"),
        ({"DRAFTS_TABLE": "my-drafts", "DUE_TABLE": "2due"}, "DRAFTS_TABLE, DUE_TABLE: must have"),
        ({"WEBHOOKS_QUEUE": "q" * 57}, "WEBHOOKS_QUEUE: must have"),
        ({"WEBHOOKS_QUEUE": "told-poison"}, "WEBHOOKS_QUEUE: must have"),
    ],
)
def test_name_that_storage_or_the_host_would_refuse_is_a_fault(environment, named):
    """Said at start, and not by every call; a queue without a poison queue would never end."""
    with pytest.raises(SettingsError, match=named):
        Settings.from_env(environment)


def test_longest_names_are_taken():
    """As long as storage and the host's name of the poison queue allow."""
    queue = "q" * 56
    names = {
        "IMAGES_CONTAINER": "i" * 63,
        "EVENTS_QUEUE": "e" * 63,
        "JOBRUNS_TABLE": "J" * 63,
        "IMAGE_JOBS_QUEUE": queue,
        "IMAGE_JOBS_POISON_QUEUE": f"{queue}-poison",
    }
    assert Settings.from_env(names).image_jobs_queue == queue


@pytest.mark.parametrize(
    ("environment", "named"),
    [
        ({"UPLOADS_CONTAINER": "images"}, "UPLOADS_CONTAINER, IMAGES_CONTAINER: must differ"),
        ({"EVENTS_QUEUE": "draft-webhooks"}, "WEBHOOKS_QUEUE, EVENTS_QUEUE: must differ"),
        ({"EVENTS_QUEUE": "draft-webhooks-poison"}, "EVENTS_QUEUE: must differ"),
        ({"DUE_TABLE": "Drafts"}, "DRAFTS_TABLE, DUE_TABLE: must differ"),
    ],
)
def test_one_name_for_two_things_is_a_fault(environment, named):
    """In one container a finished run would delete the photo among its leftovers."""
    with pytest.raises(SettingsError, match=named):
        Settings.from_env(environment)


def test_settings_with_the_longest_times_can_be_used():
    """What passes the check is no date past the calendar."""
    longest = Settings.from_env({"FAILED_TTL_DAYS": "1000000", "READY_TTL_DAYS": "1000000"})
    assert longest.retention.ready is not None
    assert NOW + longest.retention.failed < NOW.max.replace(tzinfo=NOW.tzinfo)


def test_setting_defaults_read_back_as_they_are():
    """The text of every default parses to the default."""
    texts = setting_texts()
    assert Settings.from_env(texts) == Settings()
    assert len(texts) == len(fields(Settings))


def test_ready_drafts_are_kept_for_ever_by_default():
    """READY_TTL_DAYS 0 means no end."""
    assert Settings().retention.ready is None
    assert Settings(ready_ttl_days=2).retention.ready is not None


def test_kill_switch_turns_a_job_off():
    """A job without a switch is on."""
    settings = Settings.from_env({"JOB_CLEANUP_ABANDONED_DRAFTS_ENABLED": "false"})
    assert not settings.job_enabled("cleanup_abandoned_drafts")
    assert settings.job_enabled("repair_unattended_drafts")
    assert settings.job_enabled("anything_else")
