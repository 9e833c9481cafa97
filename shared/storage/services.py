"""The three storage services behind the prefix `DRAFTS`, and what has to exist in them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from azure.core.credentials import TokenCredential
from azure.core.exceptions import ResourceExistsError
from azure.data.tables import TableServiceClient
from azure.identity import DefaultAzureCredential, ManagedIdentityCredential
from azure.storage.blob import BlobServiceClient
from azure.storage.queue import QueueClient, QueueServiceClient

from shared.domain.errors import SettingsError, StorageUnavailableError
from shared.setting_texts import is_web_address
from shared.settings import Settings
from shared.storage.translate import error_code, translate_storage_errors

PREFIX = "DRAFTS"
_BEING_DELETED = frozenset({"ContainerBeingDeleted", "QueueBeingDeleted", "TableBeingDeleted"})
_PATIENCE_SECONDS = 60

# One retry layer, the host's: a call that fails says so. Only a connection that could not be made
# is tried once more, since nothing was sent.
_TRANSPORT: dict[str, Any] = {
    "retry_total": 1,
    "retry_connect": 1,
    "retry_read": 0,
    "retry_status": 0,
    "initial_backoff": 1,  # seconds; 15 for blobs and queues unless said
    "random_jitter_range": 1,
    "connection_timeout": 5,
    "read_timeout": 20,
}


class Services:
    """Clients of the three; `local` where they came by connection string: then the app sets up."""

    def __init__(
        self,
        blobs: BlobServiceClient,
        queues: QueueServiceClient,
        tables: TableServiceClient,
        *,
        local: bool = False,
    ) -> None:
        self.blobs = blobs
        self.queues = queues
        self.tables = tables
        self.local = local

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Services:
        """By connection string, else by service addresses and an identity. Raises SettingsError."""
        text = environ.get(PREFIX, "").strip()
        if text:
            return cls.from_connection_string(text)
        names = [f"{PREFIX}__{kind}ServiceUri" for kind in ("blob", "queue", "table")]
        given = {name: environ.get(name, "").strip() for name in names}
        if faults := _faults_of(given):
            raise SettingsError(faults)
        blob, queue, table = given.values()
        who = credential(environ)
        return cls(
            BlobServiceClient(blob, credential=who, **_TRANSPORT),
            QueueServiceClient(queue, credential=who, **_TRANSPORT),
            TableServiceClient(endpoint=table, credential=who, **_TRANSPORT),
        )

    @classmethod
    def from_connection_string(cls, text: str) -> Services:
        """Raises SettingsError for a text that is none."""
        try:
            return cls(
                BlobServiceClient.from_connection_string(text, **_TRANSPORT),
                QueueServiceClient.from_connection_string(text, **_TRANSPORT),
                TableServiceClient.from_connection_string(text, **_TRANSPORT),
                local=True,
            )
        except ValueError as error:
            raise SettingsError([f"{PREFIX}: not a storage connection string"]) from error

    def queue(self, name: str) -> QueueClient:
        return self.queues.get_queue_client(name)

    def create_missing(self, names: Settings) -> None:
        """Containers, queues and tables that infra makes in Azure, made here.

        One that is still being deleted is waited for. Raises StorageUnavailableError, after 60 s
        at most.
        """
        for create in self.creations(names):
            _create(create)

    def creations(self, names: Settings) -> list[Callable[[], object]]:
        """One call for each container, queue and table that the app uses."""
        containers = (names.uploads_container, names.images_container)
        return [
            *(self.blobs.get_container_client(name).create_container for name in containers),
            *(self.queue(name).create_queue for name in queue_names(names)),
            *(self.tables.get_table_client(name).create_table for name in table_names(names)),
        ]


def _faults_of(addresses: Mapping[str, str]) -> list[str]:
    """Of the three addresses of an identity's connection; tokens go over TLS alone."""
    missing = [name for name, address in addresses.items() if not address]
    wrong = [
        name
        for name, address in addresses.items()
        if address and not is_web_address(address, schemes=("https",))
    ]
    return [
        *(f"{name}: missing" for name in ([PREFIX, *missing] if missing else ())),
        *(f"{name}: must be an https address" for name in wrong),
    ]


class Setup:
    """What has to exist before the app works, made bit by bit.

    Nearly always it exists, and a process must not lose its first call to a check of that.
    """

    def __init__(self, creations: Iterable[Callable[[], object]]) -> None:
        self._left = deque(creations)

    def go_on(self) -> None:
        """Make what is left. Where storage fails, the rest is for the next time.

        What is really missing then is said by the call that needs it.
        """
        while self._left:
            try:
                _create(self._left[0])
            except StorageUnavailableError:
                return
            self._left.popleft()


def queue_names(names: Settings) -> tuple[str, ...]:
    return (
        names.image_jobs_queue,
        names.image_jobs_poison_queue,
        names.webhooks_queue,
        names.webhooks_poison_queue,
        names.events_queue,
    )


def table_names(names: Settings) -> tuple[str, ...]:
    return (
        names.drafts_table,
        names.due_table,
        names.jobruns_table,
        names.deadletters_table,
    )


def credential(environ: Mapping[str, str]) -> TokenCredential:
    """The identity named for the app's storage, else the platform's."""
    client_id = environ.get(f"{PREFIX}__clientId")
    if environ.get(f"{PREFIX}__credential", "").lower() == "managedidentity":
        return ManagedIdentityCredential(client_id=client_id)
    return DefaultAzureCredential()


def _create(create: Callable[[], object]) -> None:
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while True:
        with translate_storage_errors():
            if _exists_after(create) or _waited_out(give_up):
                return


def _exists_after(create: Callable[[], object]) -> bool:
    """False where it is still being deleted."""
    try:
        create()
    except ResourceExistsError as error:
        return error_code(error) not in _BEING_DELETED
    return True


def _waited_out(give_up: float) -> bool:
    if time.monotonic() > give_up:
        raise StorageUnavailableError("storage is still being deleted")
    time.sleep(1)
    return False
