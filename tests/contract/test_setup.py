"""Storage that is given by connection string is completed by the app, and never in its way."""

import os
import socket

import pytest
from azure.core.exceptions import (
    HttpResponseError,
    ResourceExistsError,
    ServiceResponseError,
)

from devhost.azurite import connection_string
from shared import bootstrap
from shared.domain.errors import StorageUnavailableError
from shared.settings import Settings
from shared.storage.services import Services, Setup, queue_names, table_names
from tests.contract.conftest import fresh

FAILURES = (ServiceResponseError("the answer was lost"), HttpResponseError("busy"))


class Creation:
    """One container, queue or table; each of `failures` is a call that goes wrong."""

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self._failures:
            raise self._failures.pop()


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: type(failure).__name__)
def test_setup_where_storage_fails_goes_on_the_next_time(failure):
    """Nothing is raised, what was made is not made again, and what is left follows."""
    first, second, third = Creation(), Creation(failure), Creation()
    setup = Setup([first, second, third])
    setup.go_on()
    assert (first.calls, second.calls, third.calls) == (1, 1, 0)
    setup.go_on()
    setup.go_on()
    assert (first.calls, second.calls, third.calls) == (1, 2, 1)


@pytest.mark.parametrize("kind", ["Container", "Queue", "Table"])
def test_setup_waits_for_what_is_still_being_deleted(kind):
    """Right after a reset storage says for a while that it exists; then it can be made."""
    going = ResourceExistsError("being deleted")
    going.error_code = f"{kind}BeingDeleted"
    first, second = Creation(going), Creation(ResourceExistsError("it is there"))
    Setup([first, second]).go_on()
    assert (first.calls, second.calls) == (2, 1)


def test_setup_makes_everything_that_the_app_uses(services):
    """On an empty account, and again where all is there."""
    queue = fresh("q")
    names = Settings.from_env(
        {
            "UPLOADS_CONTAINER": fresh("u"),
            "IMAGES_CONTAINER": fresh("i"),
            "DRAFTS_TABLE": fresh("d"),
            "IMAGE_JOBS_QUEUE": queue,
            "IMAGE_JOBS_POISON_QUEUE": f"{queue}-poison",
        }
    )
    for _ in range(2):
        Setup(services.creations(names)).go_on()
    assert services.blobs.get_container_client(names.uploads_container).exists()
    assert services.blobs.get_container_client(names.images_container).exists()
    assert {*queue_names(names)} <= {queue.name for queue in services.queues.list_queues()}
    assert {*table_names(names)} <= {table.name for table in services.tables.list_tables()}


@pytest.fixture
def no_storage(monkeypatch):
    """An environment whose storage is at ports where nobody listens."""
    caches = (bootstrap.settings, bootstrap._dependencies)
    for cache in caches:
        cache.cache_clear()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        monkeypatch.setenv("DRAFTS", connection_string(port, port, port))
        monkeypatch.setenv("AUTH_MODE", "local")
        yield
    for cache in caches:
        cache.cache_clear()


def test_dependencies_are_there_while_storage_is_away(no_storage):
    """The first call of a process fails by what it needs itself, not by a check of everything."""
    assert bootstrap.dependencies() is bootstrap.dependencies()


def test_storage_that_has_to_be_complete_says_that_it_is_not(no_storage):
    """A command that sets storage up does not go on without it."""
    with pytest.raises(StorageUnavailableError):
        Services.from_env(os.environ).create_missing(Settings())
