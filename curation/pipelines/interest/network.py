"""A network of interestingness: frozen image features beside a hidden layer on the counts of objects.

Source: Zellers et al. 2019 §B.2: image features (2048 of a ResNet-50) are concatenated with a 512-dimensional
projection of the object counts, and predict the label. There the image model is trained too; here it stays frozen.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from curation.files import atomic_file, file_sha256
from curation.records import InvalidInput

SCORE_ROWS = 8192  # images that are scored at once
WEIGHTS_FILE = "weights.safetensors"


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """Size of the hidden layer, and the full-batch AdamW training."""

    hidden: int
    steps: int
    learning_rate: float
    weight_decay: float
    seed: int


class InterestNetwork(nn.Module):
    """Predicts the logit of "interesting" from features (n, d) and counts (n, 2)."""

    mean: Tensor
    scale: Tensor

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.counts = nn.Sequential(nn.Linear(2, hidden), nn.ReLU())
        self.output = nn.Linear(features + hidden, 1)
        # Features of encoders have very different lengths: they are standardised by the training images.
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("scale", torch.ones(features))

    def forward(self, vectors: Tensor, counts: Tensor) -> Tensor:
        """Return the logits, (n,)."""
        standardised = (vectors - self.mean) / self.scale  # (n, d)
        joined = torch.cat([standardised, self.counts(torch.log1p(counts))], dim=1)  # (n, d + hidden)
        return self.output(joined).squeeze(1)


def fit_network(
    vectors: NDArray[np.float32],
    counts: NDArray[np.int64],
    interesting: NDArray[np.bool_],
    options: NetworkOptions,
) -> InterestNetwork:
    """Return a network that was trained on these images; equal arguments give equal weights on one machine.

    Args:
        vectors: (n, d) image features. counts: (n, 2) people and other objects. interesting: (n,) labels.

    Raises:
        InvalidInput: all images have the same label.
    """
    if not 0 < interesting.sum() < len(interesting):
        raise InvalidInput("labels: all images have the same label; label interesting and boring images")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(options.seed)
        network = InterestNetwork(vectors.shape[1], options.hidden)
        inputs, labels = _tensors(vectors, counts), torch.from_numpy(interesting.astype(np.float32))
        network.mean.copy_(inputs[0].mean(dim=0))
        network.scale.copy_(inputs[0].std(dim=0).clamp(min=1e-6))
        optimizer = torch.optim.AdamW(
            network.parameters(), lr=options.learning_rate, weight_decay=options.weight_decay
        )
        for _ in range(options.steps):
            optimizer.zero_grad()
            nn.functional.binary_cross_entropy_with_logits(network(*inputs), labels).backward()
            optimizer.step()
    return network.eval()


def network_scores(
    network: InterestNetwork, vectors: NDArray[np.float32], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the probability that each image is interesting, (n,)."""
    scores = np.empty(len(vectors))
    with torch.inference_mode():
        for start in range(0, len(vectors), SCORE_ROWS):
            rows = slice(start, start + SCORE_ROWS)
            scores[rows] = torch.sigmoid(network(*_tensors(vectors[rows], counts[rows]))).numpy()
    return scores


def save_network(network: InterestNetwork, folder: Path) -> str:
    """Write the weights into a new folder, and return the file's SHA-256."""
    from safetensors.torch import save

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / WEIGHTS_FILE
    with atomic_file(path) as file:
        file.write(save({name: tensor.contiguous() for name, tensor in network.state_dict().items()}))
    return file_sha256(path)


def load_network(folder: Path, *, sha256: str) -> InterestNetwork:
    """Read the weights of a stored network.

    Raises:
        InvalidInput: the file is missing, or differs from the one that was stored.
    """
    from safetensors.torch import load_file

    path = folder / WEIGHTS_FILE
    try:
        if file_sha256(path) != sha256:
            raise InvalidInput(f"{path}: differs from the file that was stored; train the model again")
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read ({error.strerror}); train the model again") from error
    state = load_file(path)
    network = InterestNetwork(len(state["mean"]), len(state["counts.0.bias"]))
    network.load_state_dict(state)
    return network.eval()


def _tensors(vectors: NDArray[np.float32], counts: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
    return torch.from_numpy(np.array(vectors, dtype=np.float32)), torch.from_numpy(counts.astype(np.float32))
