"""Who asks: three modes, each believed only where it can be kept."""

import pytest

from shared.domain.errors import RequestError
from shared.identity import Platform, owner_of

AZURE = Platform(authenticates=True, development=False)
LAPTOP = Platform(authenticates=False, development=True)
CLUSTER = Platform(authenticates=False, development=False)
BOTH = {"x-ms-client-principal-id": "principal", "x-owner-id": "named"}


@pytest.mark.parametrize(
    ("mode", "platform", "headers", "owner"),
    [
        ("easyauth", AZURE, BOTH, "principal"),
        ("key", CLUSTER, BOTH, "named"),
        ("key", AZURE, BOTH, "named"),
        ("local", LAPTOP, BOTH, "named"),
        ("local", LAPTOP, {}, "local"),
        ("local", LAPTOP, {"x-owner-id": ""}, "local"),
    ],
)
def test_owner_is_known(mode, platform, headers, owner):
    """Each mode believes one header, and only its own."""
    assert owner_of(headers, mode=mode, platform=platform) == owner


@pytest.mark.parametrize(
    ("mode", "platform", "headers"),
    [
        ("", LAPTOP, BOTH),
        ("other", LAPTOP, BOTH),
        ("easyauth", CLUSTER, BOTH),
        ("easyauth", LAPTOP, BOTH),
        ("easyauth", AZURE, {"x-owner-id": "named"}),
        ("key", AZURE, {"x-ms-client-principal-id": "principal"}),
        ("key", AZURE, {"x-owner-id": ""}),
        ("key", AZURE, {"x-owner-id": "  "}),
        ("key", AZURE, {"x-owner-id": "a\nb"}),
        ("key", AZURE, {"x-owner-id": "x" * 129}),
        ("key", AZURE, {"x-owner-id": "\udcff"}),
        ("local", AZURE, BOTH),
        ("local", CLUSTER, BOTH),
    ],
)
def test_owner_is_not_known(mode, platform, headers):
    """401: a mode that is not set or not allowed here believes nobody."""
    with pytest.raises(RequestError) as caught:
        owner_of(headers, mode=mode, platform=platform)
    assert (caught.value.status, caught.value.code) == (401, "UNAUTHENTICATED")


@pytest.mark.parametrize(
    ("environ", "platform"),
    [
        ({"WEBSITE_AUTH_ENABLED": "True"}, AZURE),
        ({"WEBSITE_AUTH_ENABLED": "1"}, CLUSTER),
        ({"AZURE_FUNCTIONS_ENVIRONMENT": "Development"}, LAPTOP),
        ({"AZURE_FUNCTIONS_ENVIRONMENT": "Production"}, CLUSTER),
        ({}, CLUSTER),
    ],
)
def test_platform_is_what_the_host_says(environ, platform):
    """Only a clear word counts."""
    assert Platform.from_env(environ) == platform
