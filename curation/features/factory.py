"""Create encoders by the names that settings, commands and provenance use."""

from pathlib import Path

from curation.features.crops import Crop
from curation.features.encoder import DEFAULT_ENCODER, Encoder, EncoderUnavailable, Precision

CLIP_PREFIX, OPENVINO_PREFIX = "clip:", "clip-openvino:"


def get_encoder(
    name: str = "", *, precision: Precision = Precision.AUTO, crop: Crop = Crop.TWO_SQUARES
) -> Encoder:
    """Return the encoder called ``name``.

    Args:
        name: ``label-sentence`` (default), ``clip:<hub id or folder>``, or ``clip-openvino:<folder>``.
        precision, crop: for CLIP; the default encoder has fixed ones.

    Raises:
        EncoderUnavailable: an unknown name, a missing package, or weights that are not available.
    """
    if name in {"", DEFAULT_ENCODER}:
        from curation.features.label_sentence import LabelSentenceEncoder  # noqa: PLC0415 - torch, on demand

        return LabelSentenceEncoder()
    if source := _text_after_prefix_or_empty(CLIP_PREFIX, name):
        from curation.features.clip import ClipEncoder  # noqa: PLC0415 - torch, on demand

        return ClipEncoder(source, precision=precision, crop=crop)
    if source := _text_after_prefix_or_empty(OPENVINO_PREFIX, name):
        from curation.features.clip_openvino import OpenVinoClipEncoder  # noqa: PLC0415 - on demand

        return OpenVinoClipEncoder(source, precision=precision, crop=crop)
    raise EncoderUnavailable(
        f"encoder {name!r} is not known; use {DEFAULT_ENCODER}, clip:openai/clip-vit-base-patch32, "
        f"or clip:{Path('folder')} with saved weights"
    )


def _text_after_prefix_or_empty(prefix: str, name: str) -> str:
    return name.removeprefix(prefix) if name.startswith(prefix) else ""
