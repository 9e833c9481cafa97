"""Azure SDK errors become ours here, once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from azure.core.exceptions import AzureError, HttpResponseError, ServiceRequestError

from shared.domain.errors import AlreadyExistsError, ConflictError, StorageUnavailableError

# A 404 of one row or blob means that it is gone; of its table or container, that storage is not
# set up, which no caller can mend.
_NOT_SET_UP = frozenset({"TableNotFound", "ContainerNotFound", "QueueNotFound"})
_EXISTS = frozenset({"EntityAlreadyExists", "BlobAlreadyExists"})
_LOST_RACE = frozenset({404, 412})
_TABLE_CODE = re.compile(r'"odata\.error":\s*\{"code":\s*"(\w+)"')


@contextmanager
def translate_storage_errors() -> Iterator[None]:
    """Raises ConflictError, AlreadyExistsError or StorageUnavailableError, and nothing of Azure."""
    try:
        yield
    except ServiceRequestError as error:  # never left this machine
        raise StorageUnavailableError(unknown=False) from error
    except HttpResponseError as error:
        raise _translated(error) from error
    except AzureError as error:
        raise StorageUnavailableError from error


def error_code(error: HttpResponseError) -> str:
    """The service's word for what is wrong; some table calls leave it in the body."""
    code = getattr(error, "error_code", None)
    if code:
        return str(getattr(code, "value", code))
    found = _TABLE_CODE.search(str(error))
    return found[1] if found else ""


def _translated(error: HttpResponseError) -> ConflictError | StorageUnavailableError:
    code = error_code(error)
    if code in _EXISTS:
        return AlreadyExistsError(service_code=code)
    if error.status_code in _LOST_RACE and code not in _NOT_SET_UP:
        return ConflictError(service_code=code)
    refused = error.status_code is not None and 400 <= error.status_code < 500
    return StorageUnavailableError(unknown=not refused, service_code=code)
