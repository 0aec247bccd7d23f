"""CLIP's vision tower through OpenVINO, which uses bf16 units better than torch on some processors.

Optional: ``pip install openvino``. The encoder name ``clip-openvino:`` takes the same folder as ``clip:``. Torch
encodes the texts.
"""

import copy
import threading
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from curation.cores import usable_cores
from curation.features.clip import ClipEncoder, pooled_features
from curation.features.crops import Crop
from curation.features.encoder import EncoderUnavailable, Precision

PRECISION_HINTS = {Precision.FP32: "f32", Precision.BF16: "bf16"}


class OpenVinoClipEncoder(ClipEncoder):
    """A CLIP model from a folder; its vision tower is converted at loading."""

    def __init__(
        self, source: str, *, precision: Precision = Precision.AUTO, crop: Crop = Crop.TWO_SQUARES
    ) -> None:
        openvino = _import_openvino()
        super().__init__(source, device="cpu", precision=precision, crop=crop)
        example = torch.zeros(2, 3, self._norm.side, self._norm.side)
        tower = _VisionTower(copy.deepcopy(self._model).float()).eval()
        with torch.inference_mode():
            converted = openvino.convert_model(tower, example_input=example, input=[-1, *example.shape[1:]])
        # One stream of one thread per core: batches run in parallel, as with torch.
        cores = usable_cores()
        settings = {"INFERENCE_PRECISION_HINT": PRECISION_HINTS[self.precision], "NUM_STREAMS": cores}
        settings |= {"INFERENCE_NUM_THREADS": cores, "PERFORMANCE_HINT": "THROUGHPUT"}
        self._compiled = openvino.Core().compile_model(converted, "CPU", settings)
        self._thread_state = threading.local()
        runtime = f"openvino {openvino.__version__.split('-')[0]}"
        self.name = f"{self.name} (OpenVINO)"
        self.revision = f"{self.revision} {runtime}"
        self.preprocessing = self.preprocessing | {"runtime": runtime}

    def encode_pixels(self, pixels: torch.Tensor) -> NDArray[np.float32]:
        """Return (n, dim) unnormalised rows, one per image: the mean of its views."""
        if not hasattr(self._thread_state, "request"):
            self._thread_state.request = self._compiled.create_infer_request()
        outputs = self._thread_state.request.infer({0: pixels.float().numpy()})
        views = np.array(outputs[self._compiled.output(0)], dtype=np.float32)
        return views.reshape(-1, self._crop.view_count, self.dim).mean(axis=1)


class _VisionTower(torch.nn.Module):
    """The vision tower alone: pixels in, projected features out."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return (n, dim) features of (n, 3, side, side) pixels."""
        return pooled_features(self.model.get_image_features(pixel_values=pixels))


def _import_openvino() -> Any:
    try:
        import openvino  # noqa: PLC0415 - optional
    except ImportError as error:
        raise EncoderUnavailable("OpenVINO is not installed: pip install openvino, or use clip:") from error
    return openvino
