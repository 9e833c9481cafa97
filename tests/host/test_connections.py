"""How the name of a connection leads to a storage account."""

import pytest

from devhost.connections import NoStorageError, StorageConnection, find_connection
from devhost.settings import Settings


def found(name: str, **environ: str) -> StorageConnection:
    """The connection of this name with these settings."""
    return find_connection(Settings(environ=environ), name)


def test_connection_with_the_prefix_comes_first() -> None:
    """`AzureWebJobsDRAFTS` is asked before `DRAFTS`."""
    assert found("DRAFTS", AzureWebJobsDRAFTS="a", DRAFTS="b").connection_string == "a"


def test_connection_without_the_prefix_comes_second() -> None:
    """A setting of just that name will do."""
    assert found("DRAFTS", DRAFTS="b").connection_string == "b"


def test_connection_of_the_host_has_its_own_name() -> None:
    """No prefix is put before one that is there."""
    assert found("AzureWebJobsStorage", AzureWebJobsStorage="a").connection_string == "a"


def test_connection_among_the_connection_strings_comes_before_a_setting() -> None:
    """The group is looked at first."""
    environ = {"ConnectionStrings:DRAFTS": "group", "DRAFTS": "setting"}
    assert find_connection(Settings(environ=environ), "DRAFTS").connection_string == "group"


def test_connection_by_service_addresses_is_found() -> None:
    """A group of settings names each service."""
    connection = found(
        "DRAFTS", DRAFTS__queueServiceUri="https://q", DRAFTS__blobServiceUri="https://b"
    )
    assert (connection.queue_uri, connection.blob_uri) == ("https://q", "https://b")


def test_connection_by_account_name_has_the_usual_addresses() -> None:
    """The name alone makes both."""
    connection = found("DRAFTS", DRAFTS__accountName="acct")
    assert connection.queue_uri == "https://acct.queue.core.windows.net"
    assert connection.blob_uri == "https://acct.blob.core.windows.net"


def test_connection_that_is_missing_is_named() -> None:
    """The message is the host's."""
    with pytest.raises(
        NoStorageError,
        match="Storage account connection string 'AzureWebJobsDRAFTS' does not exist",
    ):
        found("DRAFTS")
