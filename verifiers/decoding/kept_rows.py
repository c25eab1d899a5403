"""The largest logits of rows, and what laws can be had from them without the model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from .sampling_laws import SamplingLaw


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The largest logits of n rows, the largest first, the lowest id first where they tie.

    Attributes:
        tokens: (n, N) ids.
        logits: (n, N) as the model gave them, in float32.
        temperatures: those for which it is known how much mass all other tokens have.
        rest: (n, T) the logarithm of the sum of exp(logit / temperature) over the other tokens, minus infinity
            where there are none.
        vocab: tokens of a whole row.
    """

    tokens: np.ndarray
    logits: np.ndarray
    temperatures: tuple[float, ...]
    rest: np.ndarray
    vocab: int

    def laws(self, sampling: SamplingLaw) -> list[dict[int, float]]:
        """The law of each row by its tokens with mass, as `SamplingLaw.rows` of the whole row gives it.

        Raises:
            ValueError: where tokens that were not kept have mass, or may have, under this sampling law.
        """
        logits = torch.from_numpy(self.logits)
        if sampling.temperature == 0 or self.logits.shape[1] == self.vocab:
            rows = sampling.rows(logits)
        elif sampling.top_k is not None:
            self._check_top_k(sampling.top_k)
            rows = sampling.rows(logits)
        else:
            counts = self._counts_of_top_p(sampling)
            rows = torch.cat([
                SamplingLaw(sampling.temperature, top_k=int(count)).rows(row[None])
                for row, count in zip(logits, counts, strict=True)
            ])  # fmt: skip
        mass = rows.numpy()
        return [
            dict(zip(tokens[law > 0].tolist(), law[law > 0].tolist(), strict=True))
            for tokens, law in zip(self.tokens, mass, strict=True)
        ]

    def _check_top_k(self, top_k: int) -> None:
        kept = self.logits.shape[1]
        # Tokens that tie with the last one kept by top-k stay: all of them must be here.
        if top_k >= kept or (self.logits[:, top_k - 1] <= self.logits[:, -1]).any():
            raise ValueError(
                f"top_k: got {top_k}, but only the {kept} largest logits of each row were kept; expected fewer"
            )

    def _counts_of_top_p(self, sampling: SamplingLaw) -> np.ndarray:
        """(n,): how many tokens top-p leaves in each row."""
        kept = self.logits.shape[1]
        if sampling.top_p is None or sampling.top_p >= 1:
            raise ValueError(
                f"only the {kept} largest logits of each row were kept, of {self.vocab}; expected a top_k or a top_p"
            )
        if sampling.temperature not in self.temperatures:
            known = ", ".join(f"{each:g}" for each in self.temperatures)
            raise ValueError(
                f"temperature: got {sampling.temperature:g}, but the mass of the tokens that were not kept is known "
                f"for {known} only; expected one of these, or a top_k"
            )
        scores = self.logits.astype(np.float64) / sampling.temperature
        rest = self.rest[:, self.temperatures.index(sampling.temperature)]
        whole = np.logaddexp(np.logaddexp.reduce(scores, axis=1), rest)
        up_to = np.exp(scores - whole[:, None]).cumsum(axis=1)
        counts: np.ndarray = (up_to < sampling.top_p).sum(axis=1) + 1
        last = self.logits[np.arange(len(counts)), np.minimum(counts, kept) - 1]
        short = np.flatnonzero(last <= self.logits[:, -1])  # ties of the last one stay, too
        if short.size:
            raise ValueError(
                f"top_p: got {sampling.top_p:g}, but the {kept} logits that were kept hold only "
                f"{up_to[short[0], -1]:.4f} of a row; expected less, a top_k, or more logits kept"
            )
        return counts


def keep_rows(logits: Tensor, count: int, temperatures: Sequence[float]) -> KeptRows:
    """Keep the `count` largest logits of rows (n, V), all where there are no more.

    `temperatures`, all above 0, are those for which the mass of the other tokens is kept, too. It is summed in
    float64.
    """
    count = min(count, logits.shape[-1])
    values, tokens = logits.float().topk(count, dim=-1)
    by_id = tokens.argsort(dim=-1)
    values, tokens = values.gather(-1, by_id), tokens.gather(-1, by_id)
    order = values.argsort(dim=-1, descending=True, stable=True)
    values, tokens = values.gather(-1, order), tokens.gather(-1, order)
    others = logits.double().scatter(-1, tokens, -torch.inf)
    rest = torch.stack([(others / each).logsumexp(-1) for each in temperatures], dim=-1)
    return KeptRows(
        tokens.to(torch.int32).cpu().numpy(),
        values.cpu().numpy(),
        tuple(temperatures),
        rest.cpu().numpy(),
        logits.shape[-1],
    )


def together(parts: Sequence[KeptRows]) -> KeptRows:
    """Rows that were kept in several parts, at least one, as one."""
    arrays = [
        np.concatenate([getattr(each, name) for each in parts]) for name in ("tokens", "logits", "rest")
    ]
    return KeptRows(arrays[0], arrays[1], parts[0].temperatures, arrays[2], parts[0].vocab)
