"""Which encoders there are, by the names that settings, commands and provenance use."""

from pathlib import Path

from curation.features.encoder import DEFAULT_ENCODER, Encoder, EncoderUnavailable

CLIP_PREFIX = "clip:"


def get_encoder(name: str = "") -> Encoder:
    """Return the encoder called ``name``: ``label-sentence`` (default) or ``clip:<hub id or folder>``.

    Raises:
        EncoderUnavailable: an unknown name, a missing package, or weights that cannot be had.
    """
    if name in {"", DEFAULT_ENCODER}:
        from curation.features.label_sentence import LabelSentenceEncoder  # noqa: PLC0415 - torch, on demand

        return LabelSentenceEncoder()
    if name.startswith(CLIP_PREFIX) and len(name) > len(CLIP_PREFIX):
        from curation.features.clip import ClipEncoder  # noqa: PLC0415 - torch, on demand

        return ClipEncoder(name.removeprefix(CLIP_PREFIX))
    raise EncoderUnavailable(
        f"encoder {name!r} is not known; use {DEFAULT_ENCODER}, clip:openai/clip-vit-base-patch32, "
        f"or clip:{Path('folder')} with saved weights"
    )
