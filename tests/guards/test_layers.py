"""Who may import whom, and what an import may cost."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("function_app.py", "process_image_job", "cleanup_abandoned_drafts", "shared")
HEAVY = ("cv2", "PIL", "numpy", "pillow_heif", "azure.storage", "azure.data", "pydantic")


def files(*places):
    for place in places:
        path = ROOT / place
        yield from [path] if path.is_file() else sorted(path.rglob("*.py"))


def imports(path):
    """Every module that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def offenders(places, forbidden, allowed=()):
    return [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files(*places)
        if str(path.relative_to(ROOT)) not in allowed
        for name in imports(path)
        if any(name == bad or name.startswith(bad + ".") for bad in forbidden)
    ]


@pytest.mark.parametrize(
    ("places", "forbidden", "allowed"),
    [
        (PRODUCT, ["devhost", "tests", "bench", "training"], ()),
        (["shared/domain"], ["shared.records", "shared.storage", "shared.claims", "azure"], ()),
        (PRODUCT, ["azure.functions"], ("function_app.py", "shared/web.py")),
        (
            ["process_image_job", "cleanup_abandoned_drafts", "shared/records", "shared/domain"],
            ["azure"],
            (),
        ),
        (["shared"], ["process_image_job", "cleanup_abandoned_drafts"], ()),
        (["devhost"], ["shared", "process_image_job", "cleanup_abandoned_drafts"], ()),
    ],
    ids=["product", "domain", "functions", "sdk", "shared", "devhost"],
)
def test_arrows_of_import_are_kept(places, forbidden, allowed):
    """Handlers know ports and domain; only storage knows Azure; nothing knows the local host."""
    assert offenders(places, forbidden, allowed) == []


def test_arrows_catch_a_fault(tmp_path, monkeypatch):
    """An import inside a function is seen too."""
    planted = tmp_path / "planted.py"
    planted.write_text("def f():\n    from azure.storage import blob\n")
    assert "azure.storage" in list(imports(planted))


def test_function_app_imports_fast_and_light():
    """Every process of the app pays this import: none of the heavy libraries, half a second."""
    code = (
        "import sys, time; start = time.process_time(); import function_app;"
        "print(time.process_time() - start);"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    seconds, loaded = answer.stdout.splitlines()
    assert loaded == "[]"
    assert float(seconds) < 2, "of CPU: well under half a second; this only stops a slide"


def test_names_say_what_they_hold():
    """No module is a drawer for everything."""
    drawers = {"utils", "util", "helpers", "helper", "manager", "common", "misc"}
    assert [str(p) for p in files(*PRODUCT, "devhost") if p.stem in drawers] == []


def test_errors_have_one_suffix_and_one_tree():
    """Every exception class ends in Error; all but two descend from IngestError."""
    strangers = {"NotThroughError", "ExifUnreadableError"}  # for the host; never leaves its module
    bases = {
        node.name: {base.id for base in node.bases if isinstance(base, ast.Name)}
        for path in files(*PRODUCT)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ClassDef)
    }
    errors = {
        name
        for name, parents in bases.items()
        if any(parent.endswith(("Error", "Exception")) for parent in parents)
    }
    assert {name for name in errors if not name.endswith("Error")} == set()
    known = {"IngestError"}
    while more := {name for name in errors - known if bases[name] & known}:
        known |= more
    assert errors - known == strangers
