"""The functions that the app registers, read from a module of its own: it can be read once only."""

import importlib.util
from pathlib import Path

from azure.functions.decorators.function_app import Function

ROOT = Path(__file__).resolve().parents[3]


def functions() -> dict[str, Function]:
    """By name, in the order of function_app.py."""
    spec = importlib.util.spec_from_file_location("function_app_read", ROOT / "function_app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {function.get_function_name(): function for function in module.app.get_functions()}
