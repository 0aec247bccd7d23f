"""Attention by a bilinear form (Zellers et al. 2019 §5, equation 2)."""

import torch
from torch import Tensor, nn


class BilinearAttention(nn.Module):
    """Attends from each query row to the rows of a memory: softmax of ``query W memory + b``."""

    def __init__(self, query: int, memory: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(query, memory))
        self.bias = nn.Parameter(torch.zeros(1))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, queries: Tensor, memory: Tensor, is_real: Tensor) -> Tensor:
        """Return the (n, q, m) weighted means of memory rows.

        Args:
            queries: (n, q, query). memory: (n, k, m). is_real: (n, k), false for padding; each memory has a row.
        """
        scores = queries @ self.weight @ memory.transpose(1, 2) + self.bias
        weights = scores.masked_fill(~is_real[:, None], -torch.inf).softmax(dim=-1)
        return weights @ memory


def maximum_over_time(sequences: Tensor, is_real: Tensor) -> Tensor:
    """Return the (n, d) maxima of (n, length, d) rows over the real time steps, (n, length)."""
    return sequences.masked_fill(~is_real[..., None], -torch.inf).amax(dim=1)
