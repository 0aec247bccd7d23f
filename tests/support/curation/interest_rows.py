"""The columns of a made-up model of interestingness on counts."""

from typing import Any

FIGURES: dict[str, Any] = {
    "threshold": {
        "score": 0.6,
        "kept": 80,
        "interesting": 60,
        "labelled": 200,
        "all_interesting": 90,
        "precision": 0.75,
        "interval": [0.645, 0.832],
        "recall": 2 / 3,
        "share_kept": 0.4,
    },
    "curve": [[0.9, 1.0, 0.1, 9], [0.7, 0.8, 0.5, 56], [0.6, 0.75, 2 / 3, 80], [0.1, 0.45, 1.0, 200]],
    "verdicts": {"researchers": 200},
    "films": 12,
    "unclear": 3,
    "without_objects": 4,
}
OPTIONS: dict[str, Any] = {
    "min_precision": 0.7,
    "min_kept": 50,
    "folds": 5,
    "okay": "left-out",
    "min_score": 0.7,
}
WEIGHTS = {"intercept": -3.0, "people": 1.5, "others": 0.25}
