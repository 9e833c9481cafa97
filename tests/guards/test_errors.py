"""The tree of errors is drawn where it stands."""

import importlib
import pkgutil
import re

import process_image_job
import shared
from shared.domain import errors


def descendants(kind):
    for child in kind.__subclasses__():
        yield child
        yield from descendants(child)


def test_drawn_tree_names_every_error():
    """Those of other modules too; and it names none that is gone."""
    for package in (shared, process_image_job):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    places = ("shared.", "process_image_job.")
    real = {
        kind.__name__
        for kind in descendants(errors.IngestError)
        if kind.__module__.startswith(places)
    }
    drawn = set(re.findall(r"\b\w+Error\b", errors.__doc__)) - {"IngestError"}
    assert drawn == real
