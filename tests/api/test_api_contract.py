"""The served description, held against the app by a fuzzer, and looked at as a document."""

import json
import os
import re
import subprocess
import sys

import httpx
import jsonschema
import pytest

from tests.api.service import ROOT, Service

CONFIG = "tests/api/schemathesis.toml"
RUN = (sys.executable, "-m", "schemathesis.cli", "--config-file", CONFIG, "run")
CASES_EACH = int(os.environ.get("CONTRACT_CASES", "25"))  # per operation and phase


def test_app_keeps_to_its_description(service: Service, tmp_path):
    """Hundreds of requests, good, bad and in sequence: no 5xx, no answer outside the contract."""
    done = subprocess.run(
        [
            *RUN, f"{service.host.base_url}/openapi.json", "--continue-on-failure", "--no-color",
            "--seed", os.environ.get("CONTRACT_SEED", "1"), "-n", str(CASES_EACH),
        ],
        cwd=ROOT,
        env=os.environ | {"SCHEMATHESIS_HOOKS": "tests.api.contract_hooks"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    [(generated, passed)] = re.findall(r"(\d+) generated, (\d+) passed", done.stdout)
    assert generated == passed
    assert int(generated) > 500


def described(service: Service):
    return httpx.get(f"{service.host.base_url}/openapi.json").json()


def test_description_is_openapi_3_1(service):
    """Every reference leads somewhere, and every schema is one."""
    document = described(service)
    schemas = document["components"]["schemas"]
    references = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(document)))
    assert document["openapi"] == "3.1.0"
    assert references <= set(schemas)
    for schema in schemas.values():
        jsonschema.Draft202012Validator.check_schema(schema)


def test_description_names_the_address_it_is_served_under(service):
    """A client that loads it knows where to call."""
    assert described(service)["servers"] == [{"url": "/api"}]


@pytest.mark.parametrize("page", ["docs", "docs/", "app", "app/"])
def test_page_is_served_with_all_its_files(service, page):
    """HTML, and every file that it names."""
    answer = httpx.get(f"{service.host.base_url}/{page}")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    paths = re.findall(r'(?:src|href)="(/[^"]+)"', answer.text)
    assert paths, "the page names its files"
    for path in paths:
        assert httpx.get(service.host.origin + path).status_code == 200, path
