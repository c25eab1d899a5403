"""Estimated floating-point operations of a forward pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from transformers import PreTrainedModel


@dataclass(frozen=True)
class ForwardCost:
    """What a forward pass costs, from the model's size alone.

    Two operations per parameter and token, without the embedding table (it is looked up, not multiplied) and
    with the output layer for the rows whose logits are computed; attention takes four operations per token,
    visible token and attention dimension. Norms, softmax and activations are left out.

    Attributes:
        body: parameters but for embedding table and output layer.
        head: parameters of the output layer.
        attention: attention dimensions over all layers.
    """

    body: int
    head: int
    attention: int

    @classmethod
    def of(cls, model: PreTrainedModel) -> ForwardCost:
        """The cost of a model of transformers; parameters that are shared count once."""
        config = model.config.get_text_config()
        table: Any = model.get_input_embeddings().weight
        output: Any = model.get_output_embeddings()
        head = table.numel() if output is None else output.weight.numel()
        tied = output is None or output.weight is table
        body = sum(parameter.numel() for parameter in model.parameters()) - table.numel()
        width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
        return cls(
            body=body if tied else body - head,
            head=head,
            attention=config.num_hidden_layers * config.num_attention_heads * width,
        )

    def flops(self, tokens: int, visible: int, rows: int) -> float:
        """For `tokens` tokens that see `visible` ones each at most, with the logits of `rows` of them."""
        return 2.0 * (self.body * tokens + self.head * rows + 2 * self.attention * tokens * visible)
