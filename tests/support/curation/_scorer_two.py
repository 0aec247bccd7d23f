"""A few updates in float64, in as many processes as torchrun starts: ``-m tests.support.curation._scorer_two OUT``.

The first process saves the losses and the weights. Without torchrun it is one process.
"""

import sys
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from curation.scorer.training.contrastive import ContrastiveObjective
from curation.scorer.training.distributed import World, join_process_group

PAIRS, UPDATES = 12, 6


@dataclass
class Rows:
    images: Tensor
    texts: Tensor

    def __len__(self) -> int:
        return len(self.images)


class Towers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.images = nn.Sequential(nn.Linear(7, 16), nn.Tanh(), nn.Linear(16, 5))
        self.texts = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 5))
        self.unused = nn.Linear(2, 2)
        self.logit_scale = nn.Parameter(torch.tensor(1.1))
        self.double()

    def embed(self, batch: Rows, rows: slice) -> tuple[Tensor, Tensor]:
        images, texts = self.images(batch.images[rows]), self.texts(batch.texts[rows])
        return nn.functional.normalize(images, dim=-1), nn.functional.normalize(texts, dim=-1)

    def scale(self) -> Tensor:
        return self.logit_scale.exp()


def run(world: World, chunk_size: int) -> dict[str, Tensor]:
    model = Towers()
    with torch.no_grad():  # only the first process's weights count
        for parameter in model.parameters():
            parameter.add_(world.rank)
    world.broadcast_from_first(model.state_dict().values())

    def rows(update: int) -> Rows:
        generator = torch.Generator().manual_seed(update)
        images = torch.randn(PAIRS, 7, generator=generator, dtype=torch.float64)
        texts = torch.randn(PAIRS, 6, generator=generator, dtype=torch.float64)
        return Rows(images[world.own_slice(PAIRS)], texts[world.own_slice(PAIRS)])

    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    objective = ContrastiveObjective(
        model, model.embed, model.scale, rows, chunk_size=chunk_size, world=world
    )
    losses = []
    for update in range(UPDATES):
        optimizer.zero_grad()
        losses.append(objective(update))
        optimizer.step()
    everyones = world.gather_objects(float(model.logit_scale.detach()))
    assert len(set(everyones)) == 1, everyones
    return {**model.state_dict(), "losses": torch.tensor(losses, dtype=torch.float64)}


def main() -> None:
    torch.set_num_threads(1)
    with join_process_group("cpu") as (world, _):
        for chunk_size in (0, 4):
            found = run(world, chunk_size)
            if world.is_writer:
                save_file(found, Path(sys.argv[1]) / f"{world.size}-{chunk_size}.safetensors")
    threads = [path.read_text() for path in Path("/proc/self/task").glob("*/comm")]
    assert not [name for name in threads if "gloo" in name], "one may abort the process as Python ends"


if __name__ == "__main__":
    main()
