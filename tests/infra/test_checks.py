"""The infrastructure is sound, and every check that says so is seen to fail on a planted fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.infra.checks import CHECKS
from tests.infra.planted_faults import Fault, copy_repository, planted, planted_faults

ROOT = Path(__file__).resolve().parents[2]
FAULTS = planted_faults()


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One copy for all faults; each is taken out again."""
    folder = tmp_path_factory.mktemp("repository")
    copy_repository(ROOT, folder)
    return folder


@pytest.mark.parametrize("check", CHECKS)
def test_repository(check: str) -> None:
    """A check finds nothing to say about the repository."""
    assert CHECKS[check](ROOT) == []


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.check}: {fault.what}")
def test_check_catches(fault: Fault, copy: Path) -> None:
    """A check names the fault that was planted in a copy of the repository."""
    with planted(fault, copy):
        found = CHECKS[fault.check](copy)
    assert any(fault.told in line for line in found), found


@pytest.mark.parametrize("check", CHECKS)
def test_check_has_a_planted_fault(check: str) -> None:
    """No check is taken on trust."""
    assert any(fault.check == check for fault in FAULTS)
