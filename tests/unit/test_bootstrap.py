"""The connection to storage as the environment says it, and every fault of it in one error."""

import pytest

from shared import bootstrap
from shared.domain.errors import SettingsError
from shared.storage.services import Services

ADDRESSES = {
    f"DRAFTS__{kind}ServiceUri": f"https://data.{kind}.core.windows.net/"
    for kind in ("blob", "queue", "table")
}


@pytest.fixture
def environ(monkeypatch):
    """An identity's connection, in a process that has read nothing yet."""
    caches = (bootstrap.settings, bootstrap._dependencies)
    for cache in caches:
        cache.cache_clear()
    monkeypatch.delenv("DRAFTS", raising=False)
    for name, address in ADDRESSES.items():
        monkeypatch.setenv(name, address)
    yield monkeypatch
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize(
    "address", ["https://", "http://data.blob.core.windows.net", "https://[data", "data.blob"]
)
def test_address_of_storage_that_cannot_be_used_is_a_fault_of_the_settings(address):
    """Named, instead of an exception of the SDK in every request."""
    with pytest.raises(SettingsError) as caught:
        Services.from_env(ADDRESSES | {"DRAFTS__blobServiceUri": address})
    assert caught.value.faults == ("DRAFTS__blobServiceUri: must be an https address",)


def test_space_around_an_address_of_storage_does_not_count():
    """As in every other setting."""
    services = Services.from_env({name: f" {text}\n" for name, text in ADDRESSES.items()})
    assert services.blobs.account_name == "data"


def test_faults_of_the_connection_are_told_together_with_those_of_the_settings(environ):
    """One error has them all, so that one deployment mends them."""
    environ.setenv("MAX_ATTEMPTS", "0")
    environ.delenv("DRAFTS__tableServiceUri")
    environ.setenv("DRAFTS__queueServiceUri", "queue")
    with pytest.raises(SettingsError) as caught:
        bootstrap.dependencies()
    assert caught.value.faults == (
        "MAX_ATTEMPTS: must be at least 1",
        "DRAFTS: missing",
        "DRAFTS__tableServiceUri: missing",
        "DRAFTS__queueServiceUri: must be an https address",
    )


def test_good_settings_do_not_hide_a_fault_of_the_connection(environ):
    """Nor the other way round."""
    environ.setenv("DRAFTS__queueServiceUri", "queue")
    with pytest.raises(SettingsError) as caught:
        bootstrap.dependencies()
    assert caught.value.faults == ("DRAFTS__queueServiceUri: must be an https address",)
