"""Trees of the draft, level by level, each distinct node read once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from nodebudget.lp.drafting import Drafting, Likeliest, LikeliestAndSample, WithoutReplacement
from nodebudget.verifiers.arithmetic.arrays import Arrays
from nodebudget.verifiers.drafts.tree_nodes import TreeNodes
from nodebudget.verifiers.sampling import draw
from torch import Tensor

from .branch_reader import BranchReader
from .sampling_laws import SamplingLaw

Path = tuple[int, ...]


def draft_tree(
    reader: BranchReader,
    sampling: SamplingLaw,
    drafting: Drafting,
    counts: Sequence[int],
    rng: np.random.Generator,
    dtype: torch.dtype,
) -> tuple[TreeNodes, Tensor]:
    """Draw a tree: its nodes, and the very laws (nodes.inner, V) that it was drawn from.

    Args:
        reader: the draft, at the end of the committed tokens.
        sampling: how logits become laws.
        drafting: with or without replacement, the likeliest, or the likeliest and a sample.
        counts: how many tokens are drawn at each node of length 0, 1, ..; copies draw on their own.
        rng: of the draws, on the host.
        dtype: of the laws.
    """
    level: list[Path] = [()]
    copies: list[Path] = [()]  # in the order of drawing, equal ones several times
    strings: list[Path] = []
    laws: list[Tensor] = []
    for count in counts:
        rows = torch.cat([sampling.rows(part, dtype) for part in reader.logits(level)])
        laws.append(rows)
        place = {path: number for number, path in enumerate(level)}
        index = torch.tensor([place[path] for path in copies], device=rows.device)
        uniforms = torch.from_numpy(rng.random((len(copies), count))).to(rows.device, dtype)
        drawn = draw_children(drafting, rows.index_select(0, index), uniforms)
        copies = [(*path, token) for path, tokens in zip(copies, drawn, strict=True) for token in tokens]
        strings += copies
        level = list(dict.fromkeys(copies))
    return TreeNodes(strings), torch.cat(laws)


def draw_children(drafting: Drafting, rows: Tensor, uniforms: Tensor) -> list[list[int]]:
    """The tokens that are drawn from each row (m, V) with uniform numbers (m, count), in the order of drawing.

    Where a draft leaves drawn tokens out and no other has mass, fewer are drawn. Equally likely tokens are taken from
    the smaller id on.
    """
    arrays = Arrays(rows, str(rows.dtype).removeprefix("torch."))
    count = uniforms.shape[1]
    leading: dict[type, int] = {Likeliest: count, LikeliestAndSample: count - 1}
    likeliest = leading.get(type(drafting), 0)
    distinct = isinstance(drafting, WithoutReplacement | LikeliestAndSample | Likeliest)
    drawn = []
    for number in range(count):
        # Of several maxima argmax gives the first.
        token = (
            rows.argmax(-1) if number < likeliest else draw(arrays, rows, uniforms[:, number : number + 1])
        )
        mass = rows.gather(-1, token[:, None])[:, 0]
        drawn.append(torch.where(mass > 0, token, -1))
        if distinct:
            rows = rows.scatter(-1, token[:, None], 0.0)
    return [[token for token in tokens if token >= 0] for tokens in torch.stack(drawn, dim=1).tolist()]


def likeliest_strings(
    reader: BranchReader, sampling: SamplingLaw, count: int, length: int, dtype: torch.dtype
) -> tuple[TreeNodes, Tensor]:
    """The `count` strings of at most `length` tokens that are likeliest under the draft, with its laws after them.

    They are a tree, as no string is likelier than its beginning. At each length only those are read that are among
    the likeliest so far, so that the result is that of reading all. Laws are (nodes.inner, V).
    """
    mass: dict[Path, float] = {(): 1.0}
    laws: dict[Path, Tensor] = {}
    best: list[Path] = []
    level: list[Path] = [()]
    for depth in range(length):
        rows = torch.cat([sampling.rows(part, dtype) for part in reader.logits(level)])
        laws.update(zip(level, rows, strict=True))
        values, tokens = rows.topk(min(count, rows.shape[1]), dim=-1)
        for path, shares, below in zip(level, values.tolist(), tokens.tolist(), strict=True):
            for share, token in zip(shares, below, strict=True):
                if share > 0:
                    mass[(*path, token)] = mass[path] * share
        ranked = sorted(mass.keys() - {()}, key=lambda path: (-mass[path], len(path), path))
        best = ranked[:count]
        level = [path for path in best if len(path) == depth + 1]
        if not level:
            break
    nodes = TreeNodes(best)
    return nodes, torch.stack([laws[nodes.path(node)] for node in range(nodes.inner)])
