"""Every setting, its default and its check. `from_env` reports all faults in one error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any

from shared.domain.errors import SettingsError
from shared.domain.retention import SECOND_PASS, Retention
from shared.ncrontab import values_of
from shared.setting_texts import is_web_address, value_of
from shared.storage_names import names_differ, names_fit

AUTH_MODES = ("", "easyauth", "key", "local")  # not set: every user route answers 401
SEGMENTERS = ("auto", "classical", "remote")
METADATA_PROVIDERS = ("model", "openai", "none")
_MOST_UPLOADS = 8_000
# Those that the model of the bundle tells apart.
CATEGORIES = "Dress,Hat,Long sleeve,Outerwear,Pants,Shirt,Shoes,Shorts,Skirt,T-shirt"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One field per setting; its name in lower case. Durations have their unit in the name."""

    image_jobs_queue: str = "image-processing-jobs"
    image_jobs_poison_queue: str = "image-processing-jobs-poison"
    webhooks_queue: str = "draft-webhooks"
    events_queue: str = "draft-events"
    uploads_container: str = "uploads"
    images_container: str = "images"
    drafts_table: str = "drafts"
    due_table: str = "draftdue"
    jobruns_table: str = "jobruns"
    deadletters_table: str = "deadletters"
    cleanup_schedule: str = "0 0 3 * * *"
    repair_schedule: str = "0 */5 * * * *"
    lease_seconds: int = 30
    heartbeat_seconds: int = 10
    max_attempts: int = 5
    max_retries: int = 5
    job_time_limit_seconds: int = 120
    stale_hours: int = 2
    upload_ttl_hours: int = 24
    failed_ttl_days: int = 7
    ready_ttl_days: int = 0
    upload_sas_minutes: int = 10
    uploads_per_minute: int = 10
    status_calls_per_minute: int = 300
    auth_mode: str = ""
    image_async_enabled: bool = True
    segmenter: str = "auto"
    processor_url: str = ""
    processor_key: str = ""
    metadata_provider: str = "model"
    openai_endpoint: str = ""
    openai_model: str = ""
    openai_key: str = ""
    garment_categories: str = CATEGORIES
    watermark_text: str = ""
    events_webhook_url: str = ""
    events_webhook_secret: str = ""
    events_queue_enabled: bool = False
    job_cleanup_abandoned_drafts_enabled: bool = True
    job_repair_unattended_drafts_enabled: bool = True

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Settings:
        """Reads every setting. Raises SettingsError naming each one that is wrong."""
        values: dict[str, Any] = {}
        faults: list[str] = []
        for field in fields(cls):
            name = field.name.upper()
            if text := environ.get(name, "").strip():
                try:
                    values[field.name] = value_of(text, type(field.default))
                except ValueError as error:
                    faults.append(f"{name}: {error}")
        settings = cls(**values)
        faults += [fault for check in _CHECKS if (fault := check(settings))]
        if faults:
            raise SettingsError(faults)
        return settings

    @property
    def lease(self) -> timedelta:
        return timedelta(seconds=self.lease_seconds)

    @property
    def job_time_limit(self) -> timedelta:
        return timedelta(seconds=self.job_time_limit_seconds)

    @property
    def retention(self) -> Retention:
        return Retention(
            uploading=timedelta(hours=self.upload_ttl_hours),
            failed=timedelta(days=self.failed_ttl_days),
            ready=timedelta(days=self.ready_ttl_days) if self.ready_ttl_days else None,
            stale=timedelta(hours=self.stale_hours),
        )

    @property
    def categories(self) -> tuple[str, ...]:
        names = (name.strip() for name in self.garment_categories.split(","))
        return tuple(name for name in names if name)

    @property
    def events_out(self) -> bool:
        """Whether anybody is told of final transitions."""
        return bool(self.events_webhook_url) or self.events_queue_enabled

    @property
    def webhooks_poison_queue(self) -> str:
        """Named by the host, not by a setting."""
        return self.webhooks_queue + "-poison"

    def job_enabled(self, job: str) -> bool:
        """The kill switch `JOB_<NAME>_ENABLED`; a job without one is on."""
        return bool(getattr(self, f"job_{job}_enabled", True))


def _at_least_one(settings: Settings) -> str | None:
    names = [
        field.name
        for field in fields(Settings)
        if isinstance(field.default, int)
        and not isinstance(field.default, bool)
        and field.name != "ready_ttl_days"
        and getattr(settings, field.name) < 1
    ]
    return f"{', '.join(name.upper() for name in names)}: must be at least 1" if names else None


def _one_of(name: str, allowed: tuple[str, ...]) -> Callable[[Settings], str | None]:
    def check(settings: Settings) -> str | None:
        value = getattr(settings, name)
        return None if value in allowed else f"{name.upper()}: must be one of {', '.join(allowed)}"

    return check


def _schedule(name: str) -> Callable[[Settings], str | None]:
    def check(settings: Settings) -> str | None:
        try:
            values_of(getattr(settings, name))
        except ValueError as error:
            return f"{name.upper()}: must be NCRONTAB: {error}"
        return None

    return check


def _web_address(name: str) -> Callable[[Settings], str | None]:
    def check(settings: Settings) -> str | None:
        value = getattr(settings, name)
        good = not value or is_web_address(value)
        return None if good else f"{name.upper()}: must be an http or https address"

    return check


def _poison_queue_is_the_hosts(settings: Settings) -> str | None:
    """The host alone names it: under any other name nobody would ever read what it gave up."""
    wanted = settings.image_jobs_queue + "-poison"
    good = settings.image_jobs_poison_queue == wanted
    return None if good else f"IMAGE_JOBS_POISON_QUEUE: must be {wanted}"


def _lease_outlives_heartbeat(settings: Settings) -> str | None:
    good = 2 * settings.heartbeat_seconds < settings.lease_seconds
    return None if good else "LEASE_SECONDS: must be more than twice HEARTBEAT_SECONDS"


def _uploads_fit_their_row(settings: Settings) -> str | None:
    """The row of an owner's last minute keeps 8 bytes of each upload; a property holds 64 KiB."""
    good = settings.uploads_per_minute <= _MOST_UPLOADS
    return None if good else f"UPLOADS_PER_MINUTE: must be {_MOST_UPLOADS} at most"


def _late_upload_is_removed(settings: Settings) -> str | None:
    """One that begins at the last moment ends before the second pass of a deletion is settled."""
    most = SECOND_PASS // timedelta(minutes=1)
    good = settings.upload_sas_minutes <= most
    return None if good else f"UPLOAD_SAS_MINUTES: must be {most} at most"


def _remote_has_address(settings: Settings) -> str | None:
    good = settings.segmenter != "remote" or settings.processor_url
    return None if good else "PROCESSOR_URL: needed where SEGMENTER is remote"


def _openai_is_complete(settings: Settings) -> str | None:
    good = settings.metadata_provider != "openai" or (
        settings.openai_endpoint and settings.openai_model
    )
    return (
        None if good else "OPENAI_ENDPOINT, OPENAI_MODEL: needed where METADATA_PROVIDER is openai"
    )


def _webhook_is_signed(settings: Settings) -> str | None:
    good = not settings.events_webhook_url or settings.events_webhook_secret
    return None if good else "EVENTS_WEBHOOK_SECRET: needed with EVENTS_WEBHOOK_URL"


def _has_categories(settings: Settings) -> str | None:
    return None if settings.categories else "GARMENT_CATEGORIES: must name at least one category"


_CHECKS: tuple[Callable[[Settings], str | None], ...] = (
    _at_least_one,
    _one_of("auth_mode", AUTH_MODES),
    _one_of("segmenter", SEGMENTERS),
    _one_of("metadata_provider", METADATA_PROVIDERS),
    _schedule("cleanup_schedule"),
    _schedule("repair_schedule"),
    _web_address("processor_url"),
    _web_address("openai_endpoint"),
    _web_address("events_webhook_url"),
    names_fit,
    names_differ,
    _poison_queue_is_the_hosts,
    _lease_outlives_heartbeat,
    _uploads_fit_their_row,
    _late_upload_is_removed,
    _remote_has_address,
    _openai_is_complete,
    _webhook_is_signed,
    _has_categories,
)
