"""Wiring: settings and connections to dependencies, once a process, at first use."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from threading import Lock

from azure.core.credentials import TokenCredential
from azure.core.exceptions import AzureError

from shared.dependencies import Dependencies
from shared.domain.errors import ProviderUnavailableError, SettingsError
from shared.identity import Platform
from shared.outbox import Outbox
from shared.records.deadletters import DeadLetters
from shared.records.drafts import DraftStore
from shared.records.due import DueIndex
from shared.settings import Settings
from shared.storage.blobs import AzureBlobs, SasSigner
from shared.storage.queues import AzureQueue
from shared.storage.services import Services, Setup, credential, queue_names, table_names
from shared.storage.tables import AzureTable

_building = Lock()


def utcnow() -> datetime:
    """The one clock of the product."""
    return datetime.now(UTC)


@cache
def settings() -> Settings:
    """The settings of this process. Raises SettingsError naming every fault."""
    return Settings.from_env(os.environ)


@cache
def platform() -> Platform:
    """What the host says of itself."""
    return Platform.from_env(os.environ)


def dependencies() -> Dependencies:
    """Built at first use; where storage is given by connection string, made complete too."""
    with _building:  # the first calls of a process come together; one of them builds
        built, setup = _dependencies()
        setup.go_on()
    return built


@cache
def _dependencies() -> tuple[Dependencies, Setup]:
    # The SDK tells every call at INFO, addresses included; our own lines say what matters.
    logging.getLogger("azure").setLevel(logging.WARNING)
    values, services = _both(settings, lambda: Services.from_env(os.environ))
    built = build(values, services, clock=utcnow)
    return built, Setup(services.creations(values) if services.local else ())


def _both[A, B](one: Callable[[], A], other: Callable[[], B]) -> tuple[A, B]:
    """What the two read. Raises one SettingsError with the faults that both of them find."""
    try:
        first = one()
    except SettingsError as error:
        raise SettingsError([*error.faults, *_faults_of(other)]) from error
    return first, other()


def _faults_of(read: Callable[[], object]) -> tuple[str, ...]:
    try:
        read()
    except SettingsError as error:
        return error.faults
    return ()


def access_token(scope: str) -> str:
    """A token of the app's identity for another service. Raises ProviderUnavailableError."""
    try:
        return _identity().get_token(scope).token
    except AzureError as error:
        raise ProviderUnavailableError("the app's identity gives no token") from error


@cache
def _identity() -> TokenCredential:
    return credential(os.environ)


def build(values: Settings, services: Services, *, clock: Callable[[], datetime]) -> Dependencies:
    """Dependencies on the given services."""
    signer = SasSigner(services.blobs)
    table = {
        name: AzureTable(services.tables.get_table_client(name)) for name in table_names(values)
    }
    queue = {name: AzureQueue(services.queue(name)) for name in queue_names(values)}
    due = DueIndex(table[values.due_table])
    drafts = table[values.drafts_table]
    store = DraftStore(drafts, due, values.retention, outbox=values.events_out)
    webhooks, events = queue[values.webhooks_queue], queue[values.events_queue]
    return Dependencies(
        settings=values,
        clock=clock,
        drafts_table=drafts,
        jobruns_table=table[values.jobruns_table],
        store=store,
        due=due,
        letters=DeadLetters(table[values.deadletters_table]),
        outbox=Outbox(store, values, webhooks=webhooks, events=events),
        uploads=AzureBlobs(services.blobs, values.uploads_container, signer),
        images=AzureBlobs(services.blobs, values.images_container, signer),
        jobs=queue[values.image_jobs_queue],
        poisoned=queue[values.image_jobs_poison_queue],
        webhooks=webhooks,
        webhooks_poisoned=queue[values.webhooks_poison_queue],
        events=events,
    )
