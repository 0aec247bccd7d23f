"""Bidirectional LSTMs over texts of several lengths, with one dropout mask for all time steps."""

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class SharedDropout(nn.Module):
    """Dropout with one mask for all time steps of a text (Gal and Ghahramani 2016, arXiv:1512.05287)."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.probability = probability

    def forward(self, sequences: Tensor) -> Tensor:
        """Return (n, length, d) rows of which the same channels are zero at every time step."""
        if not self.training or not self.probability:
            return sequences
        kept = 1 - self.probability
        mask = torch.empty_like(sequences[:, :1]).bernoulli_(kept).div_(kept)
        return sequences * mask


class BidirectionalLSTM(nn.Module):
    """A bidirectional LSTM that ignores padding.

    Initialised as published (``models/multiatt/default.json`` of rowanz/r2c): input weights by Xavier's rule, hidden
    weights orthogonal, biases zero but that of the forget gate, which is 1.
    """

    def __init__(self, inputs: int, hidden: int, *, layers: int = 1) -> None:
        super().__init__()
        self.width = 2 * hidden
        self._lstm = nn.LSTM(inputs, hidden, num_layers=layers, bidirectional=True, batch_first=True)
        for name, parameter in self._lstm.named_parameters():
            _initialise(name, parameter, hidden)

    def forward(self, sequences: Tensor, lengths: Tensor) -> Tensor:
        """Return (n, length, width) states, zero in the padding.

        Args:
            sequences: (n, length, inputs). lengths: (n,) int64, at least 1, on the CPU.
        """
        packed = pack_padded_sequence(sequences, lengths, batch_first=True, enforce_sorted=False)
        states, _ = self._lstm(packed)
        unpacked, _ = pad_packed_sequence(states, batch_first=True, total_length=sequences.shape[1])
        return unpacked


def _initialise(name: str, parameter: nn.Parameter, hidden: int) -> None:
    with torch.no_grad():
        if name.startswith("weight_ih"):
            nn.init.xavier_uniform_(parameter)
        elif name.startswith("weight_hh"):
            nn.init.orthogonal_(parameter)
        else:
            nn.init.zeros_(parameter)
        if name.startswith("bias_hh"):
            parameter[hidden : 2 * hidden] = 1  # torch's order of gates: input, forget, cell, output
