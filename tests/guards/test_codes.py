"""Docs, description and code list the same codes, with the same statuses."""

import ast
from pathlib import Path

import pytest

from shared.api.codes import BY_NAME, CODES
from shared.api.openapi import OPERATIONS, description
from shared.api.routes import ROUTES
from shared.domain import errors
from shared.domain.pictures import Caution

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("shared", "process_image_job", "cleanup_abandoned_drafts")
# These never leave by HTTP: the queue redelivers, or a dead letter says them.
INSIDE = {
    "CLAIM_HELD", "MESSAGE_AHEAD", "LEASE_LOST", "JOB_TIME_LIMIT", "PROCESSOR_UNAVAILABLE",
    "PROVIDER_UNAVAILABLE", "MODEL_UNAVAILABLE", "WEBHOOK_UNDELIVERED", "CONFLICT",
    "CHECKPOINT_LOST", "ENCODING_FAILED",
}  # fmt: skip
DESCRIBING = {"codes.py", "openapi_parts.py", "openapi_drafts.py", "openapi_service.py"}


def trees():
    for place in PRODUCT:
        for path in sorted((ROOT / place).rglob("*.py")):
            if path.name not in DESCRIBING:
                yield ast.parse(path.read_text())


def raised():
    """Status and code of every RequestError that is written out."""
    for tree in trees():
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "RequestError":
                status, code = (getattr(arg, "value", None) for arg in call.args[:2])
                if isinstance(code, str):
                    yield status, code


def declared():
    """Every `code = "…"` of an error class."""
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name.endswith("Error"):
                for line in node.body:
                    named = isinstance(line, ast.Assign) and line.targets[0].id == "code"
                    if named and isinstance(line.value, ast.Constant):
                        yield line.value.value


def words():
    """Every text that stands in the code."""
    for tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def test_catalogue_holds_what_the_code_says():
    """No code is raised that is not listed."""
    said = {code for _, code in raised()} | set(declared())
    assert said - INSIDE - set(BY_NAME) == set()


def test_catalogue_holds_nothing_else():
    """No code is listed that the product never says."""
    assert set(BY_NAME) - set(words()) == set()


def test_catalogue_holds_the_statuses_of_the_code():
    """A code never comes with a status that is not listed."""
    odd = [
        (status, code) for status, code in raised() if status not in (None, *BY_NAME[code].statuses)
    ]
    assert odd == []


@pytest.mark.parametrize("kind", errors.BadImageError.__subclasses__())
def test_catalogue_holds_the_statuses_of_pictures(kind):
    """Each picture's own status; what only a run can find comes by v1 as 422."""
    code = BY_NAME[kind.code]
    assert kind.status in code.statuses or code.name in ("RAW_MISSING", "RAW_CHANGED")


def test_description_holds_the_catalogue():
    """Every code with a status stands at some operation, with that status and no other."""
    found: dict[str, set[int]] = {}
    for methods in description("local", ("Hat",))["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                for content in response.get("content", {}).values():
                    for part in content["schema"].get("allOf", []):
                        for code in part.get("properties", {}).get("code", {}).get("enum", []):
                            found.setdefault(code, set()).add(int(status))
    elsewhere = {"METHOD_NOT_ALLOWED", "WINDOW_TAKEN"}  # of no operation in particular
    wanted = {c.name: set(c.statuses) for c in CODES if c.statuses and c.name not in elsewhere}
    assert found == wanted


def test_docs_hold_the_catalogue():
    """docs/errors.md has one row per code, with the same words."""
    text = (ROOT / "docs" / "errors.md").read_text()
    lines = [line for line in text.splitlines() if line.startswith("| `") and line.count("|") == 6]
    rows = [tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines]
    wanted = [
        (f"`{c.name}`", ", ".join(map(str, c.statuses)) or "–", "yes" if c.retryable else "no",
         c.meaning, c.action) for c in CODES
    ]  # fmt: skip
    assert sorted(rows) == sorted(wanted)


@pytest.mark.parametrize("code", [code.name for code in CODES])
def test_every_code_is_met_by_a_test(code):
    """A code that no test reaches may not exist."""
    tests = [*(ROOT / "tests" / "unit").rglob("*.py"), *(ROOT / "tests" / "api").rglob("*.py")]
    assert any(f'"{code}"' in path.read_text() for path in tests)


def test_every_operation_is_described():
    """All routes but the files of the pages."""
    pages = {"docs_page", "docs_asset", "app_page", "app_asset"}
    assert set(OPERATIONS) == {route.name for route in ROUTES} - pages


def test_docs_hold_the_warnings():
    """docs/errors.md explains every warning that a draft can carry."""
    text = (ROOT / "docs" / "errors.md").read_text()
    assert [caution for caution in Caution if f"| `{caution}` |" not in text] == []
