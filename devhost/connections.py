"""Storage accounts as triggers name them: by the name of a setting."""

from dataclasses import dataclass
from typing import Any

from azure.core.credentials_async import AsyncTokenCredential
from azure.identity.aio import DefaultAzureCredential
from azure.storage.blob.aio import ContainerClient
from azure.storage.queue.aio import QueueClient

from devhost.settings import Settings

# The SDK's own defaults wait 15 s and more between tries, too long for a queue's poll.
RETRY: dict[str, Any] = {
    "initial_backoff": 1,
    "increment_base": 1,
    "random_jitter_range": 0,
    "retry_total": 2,
}


class NoStorageError(Exception):
    """No setting tells where an account is."""


@dataclass(frozen=True, kw_only=True)
class StorageConnection:
    """An account by its connection string, or by the addresses of its services."""

    connection_string: str | None = None
    blob_uri: str = ""
    queue_uri: str = ""

    def queue(self, name: str) -> QueueClient:
        """A client that leaves bodies as they are: the encoding is the host's business."""
        if self.connection_string is not None:
            return QueueClient.from_connection_string(self.connection_string, name, **RETRY)
        return QueueClient(self.queue_uri, name, credential=_credential(), **RETRY)

    def container(self, name: str) -> ContainerClient:
        """A client for one container of blobs."""
        if self.connection_string is not None:
            return ContainerClient.from_connection_string(self.connection_string, name, **RETRY)
        return ContainerClient(self.blob_uri, name, credential=_credential(), **RETRY)


def find_connection(settings: Settings, name: str) -> StorageConnection:
    """Look `name` up with the prefix AzureWebJobs first, as a string or as a group of settings."""
    for key in dict.fromkeys((_prefixed(name), name)):
        value = settings.get(f"ConnectionStrings:{key}") or settings.get(key)
        if value:
            return StorageConnection(connection_string=value)
        if found := _by_addresses(settings, key):
            return found
    raise NoStorageError(
        f"Storage account connection string '{_prefixed(name)}' does not exist. "
        "Make sure that it is a defined App Setting."
    )


def _prefixed(name: str) -> str:
    return name if name.lower().startswith("azurewebjobs") else f"AzureWebJobs{name}"


def _by_addresses(settings: Settings, key: str) -> StorageConnection | None:
    addresses = {}
    account, any_service = settings.get(f"{key}:accountName"), settings.get(f"{key}:serviceUri")
    for service in ("blob", "queue"):
        default = any_service or (account and f"https://{account}.{service}.core.windows.net")
        addresses[service] = settings.get(f"{key}:{service}ServiceUri") or default or ""
    if not any(addresses.values()):
        return None
    return StorageConnection(blob_uri=addresses["blob"], queue_uri=addresses["queue"])


def _credential() -> AsyncTokenCredential:
    return DefaultAzureCredential()
