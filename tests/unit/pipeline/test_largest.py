"""The largest photos that are accepted, through the whole pipeline in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

from tests.conftest import ROOT
from tests.unit.pipeline import drawing

MOST = 620  # MB, of the 2,048 of an instance
RUN = """
import sys
from pathlib import Path
from process_image_job import pipeline
from process_image_job.segmenters.local import LocalSegmenter

photo = pipeline.decode(Path(sys.argv[1]).read_bytes())
cut_out = pipeline.cut_out(photo, LocalSegmenter(prior=None))
pipeline.render(photo, cut_out)
pipeline.analyze(photo, cut_out)
status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
print(int(status["VmHWM"].split()[0]) // 1000)
"""


@pytest.mark.parametrize(
    ("form", "mode", "options"),
    [
        ("JPEG", "RGB", {"progressive": True, "quality": 50}),
        ("PNG", "RGBA", {"compress_level": 1}),
        ("PNG", "I;16", {"compress_level": 1}),
        ("GIF", "P", {}),
    ],
)
def test_largest_photo_fits_the_instance(
    tmp_path: Path, form: str, mode: str, options: dict[str, object]
) -> None:
    """50 megapixels of any kind end, and leave room for everything else in the process."""
    tee = Image.fromarray(drawing.on_wall(drawing.tee_mask())).resize((6_100, 8_190))
    if mode == "RGBA":
        tee.putalpha(200)
    file = tmp_path / "photo"
    file.write_bytes(
        drawing.saved(tee.convert("L" if mode == "I;16" else mode).convert(mode), form, **options)
    )
    done = subprocess.run(
        [sys.executable, "-c", RUN, file], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert int(done.stdout) < MOST, done.stderr
