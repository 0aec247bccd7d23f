"""CLIP's vision tower through OpenVINO, which uses bf16 units better than torch does on some processors.

Optional: ``pip install openvino``. The folder is the one that ``clip:`` takes; texts go through torch as ever.
"""

import copy
import threading
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from curation.cores import usable_cores
from curation.features.clip import ClipEncoder
from curation.features.encoder import EncoderUnavailable, Precision
from curation.features.regions import Crop

HINTS = {Precision.FP32: "f32", Precision.BF16: "bf16"}


class OpenVinoClipEncoder(ClipEncoder):
    """A CLIP model from a folder; its vision tower is converted when it is loaded."""

    def __init__(
        self, source: str, *, precision: Precision = Precision.AUTO, crop: Crop = Crop.TWO_SQUARES
    ) -> None:
        openvino = _openvino()
        super().__init__(source, device="cpu", precision=precision, crop=crop)
        example = torch.zeros(2, 3, self._norm.side, self._norm.side)
        tower = _Tower(copy.deepcopy(self._model).float()).eval()
        with torch.inference_mode():
            converted = openvino.convert_model(tower, example_input=example, input=[-1, *example.shape[1:]])
        # A stream of one thread per core: batches run side by side, as they do with torch.
        cores = usable_cores()
        settings = {"INFERENCE_PRECISION_HINT": HINTS[self.precision], "NUM_STREAMS": cores}
        settings |= {"INFERENCE_NUM_THREADS": cores, "PERFORMANCE_HINT": "THROUGHPUT"}
        self._compiled = openvino.Core().compile_model(converted, "CPU", settings)
        self._own = threading.local()
        runtime = f"openvino {openvino.__version__.split('-')[0]}"
        self.name = f"{self.name} (OpenVINO)"
        self.revision = f"{self.revision} {runtime}"
        self.preprocessing = self.preprocessing | {"runtime": runtime}

    def encode_pixels(self, pixels: torch.Tensor) -> NDArray[np.float32]:
        """Return (n, dim) rows, one per picture, the mean of its views, not yet of length 1."""
        if not hasattr(self._own, "request"):
            self._own.request = self._compiled.create_infer_request()
        found = self._own.request.infer({0: pixels.float().numpy()})
        views = np.array(found[self._compiled.output(0)], dtype=np.float32)
        return views.reshape(-1, self._crop.views, self.dim).mean(axis=1)


class _Tower(torch.nn.Module):
    """The vision tower alone: pixels in, projected features out."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return (n, dim) features of (n, 3, side, side) pixels."""
        output = self.model.get_image_features(pixel_values=pixels)
        features = getattr(output, "pooler_output", output)
        assert isinstance(features, torch.Tensor)
        return features


def _openvino() -> Any:
    try:
        import openvino  # noqa: PLC0415 - optional
    except ImportError as error:
        raise EncoderUnavailable("OpenVINO is not installed: pip install openvino, or use clip:") from error
    return openvino
