"""Our app with photos in it that end the process: a decoder that crashes, as a test can order it.

Nothing of the product is changed. Pillow is: where the worker starts to decode a JPEG whose comment
is the marker, the process is gone as if the system had killed it. The upload's probe, which reads a
header only, is not affected.
"""

import importlib.util
import os
import signal
import sys
from pathlib import Path

from PIL.JpegImagePlugin import JpegImageFile

MARKER = b"END-THE-WORKER"
ROOT = Path(os.environ["FITTING_ROOM_ROOT"])
_draft = JpegImageFile.draft


def _deadly_draft(image, mode, size):
    if image.info.get("comment", b"").startswith(MARKER):
        os.kill(os.getpid(), signal.SIGKILL)
    return _draft(image, mode, size)


def _ours():
    """The app's own list of functions, under another name than this file's."""
    sys.path.insert(0, str(ROOT))
    spec = importlib.util.spec_from_file_location("our_function_app", ROOT / "function_app.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


JpegImageFile.draft = _deadly_draft
app = _ours().app
