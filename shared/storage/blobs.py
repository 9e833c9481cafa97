"""One Azure blob container behind the Blobs port, and the links that open single blobs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from threading import Lock
from typing import Any
from urllib.parse import quote

from azure.core import MatchConditions
from azure.core.exceptions import ResourceModifiedError, ResourceNotFoundError
from azure.storage.blob import (
    BlobSasPermissions,
    BlobServiceClient,
    ContentSettings,
    UserDelegationKey,
    generate_blob_sas,
)

from shared.ports import BlobInfo
from shared.storage.translate import error_code, translate_storage_errors

_KEY_LIFETIME = timedelta(hours=6)
_CLOCK_SKEW = timedelta(minutes=15)
_LINKS_KEPT = 8192  # about 4 MB


class SasSigner:
    """Signs links: with a user delegation key in Azure, with the account key in the emulator."""

    def __init__(self, service: BlobServiceClient) -> None:
        self._service = service
        self._lock = Lock()
        self._delegation: tuple[UserDelegationKey, datetime] | None = None
        # A read link is the same all through its hour: pollers get it without another signature.
        self.sign_to_read = lru_cache(maxsize=_LINKS_KEPT)(self._sign_to_read)

    def sign(
        self,
        container: str,
        name: str,
        *,
        permission: str,
        until: datetime,
        disposition: str | None = None,
    ) -> str:
        """The address of one blob with a token that has `permission` and nothing more."""
        account_key = getattr(self._service.credential, "account_key", None)
        signature = generate_blob_sas(
            account_name=str(self._service.account_name),
            container_name=container,
            blob_name=name,
            permission=BlobSasPermissions.from_string(permission),
            expiry=until,
            protocol="https" if self._service.url.startswith("https:") else None,
            content_disposition=disposition,
            content_type="application/octet-stream" if disposition else None,
            account_key=account_key,
            user_delegation_key=None if account_key else self._key_until(until),
        )
        return f"{self._service.url.rstrip('/')}/{container}/{quote(name)}?{signature}"

    def _sign_to_read(
        self, container: str, name: str, until: datetime, disposition: str | None
    ) -> str:
        return self.sign(container, name, permission="r", until=until, disposition=disposition)

    def _key_until(self, until: datetime) -> UserDelegationKey:
        with self._lock:
            if self._delegation is None or self._delegation[1] < until:
                now = datetime.now(UTC)
                expiry = max(until, now + _KEY_LIFETIME)
                with translate_storage_errors():
                    key = self._service.get_user_delegation_key(now - _CLOCK_SKEW, expiry)
                self._delegation = (key, expiry)
            return self._delegation[0]


class AzureBlobs:
    """Reads whole blobs: nothing here is larger than one upload."""

    def __init__(self, service: BlobServiceClient, container: str, signer: SasSigner) -> None:
        self._client = service.get_container_client(container)
        self._container = container
        self._signer = signer

    def put(self, name: str, data: bytes, *, content_type: str) -> str:
        settings = ContentSettings(content_type=content_type)
        with translate_storage_errors():
            answer = self._client.get_blob_client(name).upload_blob(
                data, overwrite=True, content_settings=settings
            )
        return str(answer["etag"])

    def read(self, name: str, *, etag: str | None = None) -> bytes | None:
        with translate_storage_errors():
            try:
                return self._client.download_blob(name, **_only_if(etag)).readall()
            except ResourceNotFoundError as error:
                _raise_unless_missing(error)
                return None
            except ResourceModifiedError:
                if self._client.get_blob_client(name).exists():
                    raise
                return None  # the condition fails for a missing blob too

    def info(self, name: str) -> BlobInfo | None:
        with translate_storage_errors():
            try:
                found = self._client.get_blob_client(name).get_blob_properties()
            except ResourceNotFoundError as error:
                _raise_unless_missing(error)
                return None
        content_type = str(found.content_settings.content_type or "")
        return BlobInfo(size=found.size, etag=str(found.etag), content_type=content_type)

    def delete(self, name: str, *, etag: str | None = None) -> None:
        with translate_storage_errors():
            try:
                self._client.delete_blob(name, **_only_if(etag))
            except ResourceNotFoundError as error:
                _raise_unless_missing(error)

    def names(self, prefix: str) -> Iterator[str]:
        with translate_storage_errors():
            yield from self._client.list_blob_names(name_starts_with=prefix)

    def read_url(self, name: str, *, until: datetime, attachment: str | None = None) -> str:
        disposition = f"attachment; filename={attachment}" if attachment else None
        return self._signer.sign_to_read(self._container, name, until, disposition)

    def upload_url(self, name: str, *, until: datetime) -> str:
        return self._signer.sign(self._container, name, permission="c", until=until)


def _only_if(etag: str | None) -> dict[str, Any]:
    """The condition of a call; none where no ETag is given."""
    return {"etag": etag, "match_condition": MatchConditions.IfNotModified} if etag else {}


def _raise_unless_missing(error: ResourceNotFoundError) -> None:
    """A missing blob is an answer; a missing container is an error (a HEAD names neither)."""
    if error_code(error) == "ContainerNotFound":
        raise error
