"""Tiny detection models with random weights, saved as folders."""

from pathlib import Path

CLASSES = {0: "person", 1: "dog", 2: "cup"}


def save_tiny_detector(folder: Path) -> Path:
    """Save an object detection model of the three classes; its scores differ little."""
    import torch
    from transformers import YolosConfig, YolosForObjectDetection
    from transformers.models.yolos import YolosImageProcessorPil

    torch.manual_seed(0)
    config = YolosConfig(
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=[64, 96],
        patch_size=16,
        num_detection_tokens=12,
        id2label=CLASSES,
        label2id={name: number for number, name in CLASSES.items()},
    )
    YolosForObjectDetection(config).save_pretrained(folder)
    YolosImageProcessorPil(size={"shortest_edge": 64, "longest_edge": 96}).save_pretrained(folder)
    return folder


def save_tiny_segmenter(folder: Path) -> Path:
    """Save an instance segmentation model of the three classes."""
    import torch
    from transformers import Mask2FormerConfig, Mask2FormerForUniversalSegmentation, SwinConfig
    from transformers.models.mask2former import Mask2FormerImageProcessorPil

    torch.manual_seed(0)
    backbone = SwinConfig(
        image_size=64,
        embed_dim=8,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 1, 1],
        window_size=4,
        out_features=["stage1", "stage2", "stage3", "stage4"],
    )
    config = Mask2FormerConfig(
        backbone_config=backbone,
        feature_size=32,
        mask_feature_size=32,
        hidden_dim=32,
        encoder_feedforward_dim=16,
        dim_feedforward=16,
        encoder_layers=1,
        decoder_layers=2,
        num_attention_heads=2,
        num_queries=12,
        id2label=CLASSES,
        label2id={name: number for number, name in CLASSES.items()},
    )
    Mask2FormerForUniversalSegmentation(config).save_pretrained(folder)
    Mask2FormerImageProcessorPil(size={"height": 64, "width": 64}).save_pretrained(folder)
    return folder
