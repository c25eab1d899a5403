"""Check decoding on one GPU: device times by phase at a realistic size, and laws against the CPU.

    python -m nodebudget.experiments.gpu_check

Random weights, a vocabulary of 152,064 tokens, bfloat16; no downloads. Exit code 1 where a law differs, 2 for a
device that is not there. With --device cpu --small the script can be tried without one.
"""

from __future__ import annotations

import argparse
import statistics
import sys

import torch
from nodebudget.experiments.benchmarks.device_verification import table
from nodebudget.verifiers import VERIFIERS, DraftTree, PathNodes
from nodebudget.verifiers.decoding import Decoder, ModelPair, SamplingLaw
from nodebudget.verifiers.decoding.models import parse_device
from nodebudget.verifiers.decoding.tree_pass import prepare
from transformers import LlamaConfig, LlamaForCausalLM

PATHS, LENGTH = 4, 6
TOLERANCE = 1e-9


def random_model(
    layers: int, width: int, vocab: int, device: torch.device, dtype: torch.dtype
) -> LlamaForCausalLM:
    """A Llama with random weights, made on the device."""
    config = LlamaConfig(
        vocab_size=vocab,
        hidden_size=width,
        intermediate_size=width * 7 // 2,
        num_hidden_layers=layers,
        num_attention_heads=max(width // 128, 2),
        num_key_value_heads=max(width // 512, 1),
        max_position_embeddings=4096,
        bos_token_id=None,
        eos_token_id=None,
    )
    torch.manual_seed(layers)
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        with device:
            return LlamaForCausalLM(config).eval()
    finally:
        torch.set_default_dtype(before)


def law_distance(name: str, vocab: int, device: torch.device) -> float:
    """The largest difference between a verifier's laws on the device and on the CPU, for the same rows.

    All of the law is compared, Pr[Z = node, Y = token]. The paths are of tokens that both models like, so that some are
    accepted and some are not. NaN where a law is.
    """
    generator = torch.Generator().manual_seed(1)
    root = torch.randn(vocab, generator=generator, dtype=torch.float64)
    # One of two tokens at each place: paths have beginnings in common, and part.
    likely = (3 * root).topk(2).indices
    paths = likely[torch.randint(2, (PATHS, LENGTH), generator=generator)]
    nodes = PathNodes(paths)
    target, draft = (
        (3 * root + noise * torch.randn(count, vocab, generator=generator, dtype=torch.float64)).softmax(-1)
        for count, noise in ((len(nodes), 0.5), (nodes.inner, 0.5))
    )
    here, there = (
        VERIFIERS[name].law(DraftTree(nodes, target.to(where), draft.to(where))).joint().cpu()
        for where in (torch.device("cpu"), device)
    )
    return float((here - there).abs().amax())


def main(arguments: list[str] | None = None) -> int:
    """Run the check and print it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--small", action="store_true", help="small models, to try the script")
    options = parser.parse_args(arguments)
    try:
        device = parse_device(options.device)
    except ValueError as error:
        print(f"gpu_check: {error}", file=sys.stderr)
        return 2
    gpu = device.type == "cuda"
    print(f"torch {torch.__version__} on {torch.cuda.get_device_name(device) if gpu else device}")

    vocab = 1000 if options.small else 152_064
    sizes = ((2, 64), (1, 64)) if options.small else ((32, 4096), (16, 1024))
    dtype = torch.bfloat16 if gpu else torch.float32
    target, draft = (random_model(layers, width, vocab, device, dtype) for layers, width in sizes)
    for role, model in (("target", target), ("draft", draft)):
        print(
            f"{role}: {sum(weight.numel() for weight in model.parameters()) / 1e9:.2f}e9 parameters, {dtype}"
        )
    pair = ModelPair("random weights", target, draft, None, vocab)

    failed = False
    print(f"\nlaws on {device.type} against the CPU, V = {vocab}, K = {PATHS}, L = {LENGTH}")
    for name in VERIFIERS:
        distance = law_distance(name, vocab, device)
        failed |= not distance <= TOLERANCE
        print(f"{name:12} largest difference {distance:.1e} {'ok' if distance <= TOLERANCE else 'FAILED'}")

    if failed:
        return 1  # what a wrong law takes is of no interest

    print(f"\nverification by itself, K = {PATHS}, L = {LENGTH}, rows in float32")
    for line in table(vocab, PATHS, LENGTH, device, repeats=3 if options.small else 20):
        print(line, flush=True)

    print(f"\nmilliseconds per block (median), K = {PATHS}, L = {LENGTH}, context of 512 tokens")
    for role, mask in zip(("target", "draft"), prepare(target, draft)[1], strict=True):
        print(f"the {role} reads {'the tree with a mask' if mask else 'the paths as a batch'}")
    print("peak memory: beyond the weights, of all phases together, caches included")
    print(
        f"{'verifier':12} {'draft':>8} {'target':>8} {'verify':>8} {'cache':>8} {'verify/target':>14} "
        f"{'peak memory':>12}"
    )
    prompt = torch.randint(vocab, (512,), generator=torch.Generator().manual_seed(0)).tolist()
    for name, verifier in VERIFIERS.items():
        decoder = Decoder(pair, verifier, paths=PATHS, length=LENGTH, sampling=SamplingLaw(temperature=1.0))
        decoder.decode(prompt, max_new_tokens=3)  # warm-up
        if gpu:
            torch.cuda.reset_peak_memory_stats(device)
        held = torch.cuda.memory_allocated(device) if gpu else 0
        blocks = decoder.decode(prompt, max_new_tokens=10).blocks
        extra = (torch.cuda.max_memory_allocated(device) - held) / 2**20 if gpu else 0.0
        times = {
            phase: 1000 * statistics.median(getattr(block, phase) for block in blocks)
            for phase in ("draft", "target", "verify", "cache")
        }
        line = " ".join(f"{value:8.2f}" for value in times.values())
        print(f"{name:12} {line} {times['verify'] / times['target']:14.1%} {extra:8.0f} MiB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
