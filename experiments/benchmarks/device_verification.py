"""Verification by itself on a device: launches, time, and time as one CUDA graph.

A CUDA graph replays the launches of one tree shape without the host, which otherwise takes several microseconds for
each of them.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from nodebudget.verifiers import VERIFIERS, DraftTree, PathNodes
from nodebudget.verifiers.sampling import drawn
from torch.utils._python_dispatch import TorchDispatchMode

NO_LAUNCH = frozenset(
    (
        *("view", "_unsafe_view", "reshape", "unsqueeze", "squeeze", "expand", "slice", "select", "permute"),
        *("transpose", "t", "alias", "detach", "lift_fresh", "scalar_tensor"),
        *("empty", "empty_like", "empty_strided", "as_strided"),
    )
)
"""Operations of torch that run nothing on the device."""

Step = Callable[[], list[torch.Tensor]]


class Launches(TorchDispatchMode):
    """Counts the operations that run something on the device."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        self.count += func.overloadpacket.__name__ not in NO_LAUNCH
        return func(*args, **(kwargs or {}))


class Measured(NamedTuple):
    """One verifier's row of the table.

    Attributes:
        launches: operations on the device for one verification, from the rows to the sampled token.
        unit, plain, replayed: milliseconds of `minimum(target, draft).sum()` over the rows of one path, of
            verification, and of its CUDA graph; the last is None where there is none.
        why_not: why there is no graph, or in which number it differs from plain verification; else None.
    """

    launches: int
    unit: float
    plain: float
    replayed: float | None
    why_not: str | None


def steps(
    name: str, nodes: PathNodes, target: torch.Tensor, draft: torch.Tensor, uniforms: torch.Tensor
) -> Step:
    """Verification of drafted rows up to what is read on the host."""

    def step() -> list[torch.Tensor]:
        law = VERIFIERS[name].law(DraftTree(nodes, target, draft, check=False))
        # Tensors in this machine's memory are computed on as numpy arrays.
        return drawn(law, uniforms if law.tree.arrays.torch else uniforms.numpy())

    return step


def launches(name: str, nodes: PathNodes, vocab: int) -> int:
    """Operations on a device for one verification, from the rows to what is read on the host.

    Counted on torch's meta device, where tensors have no values.
    """
    target, draft = (
        torch.empty(count, vocab, dtype=torch.float32, device="meta") for count in (len(nodes), nodes.inner)
    )
    with Launches() as counted:
        steps(name, nodes, target, draft, torch.empty(2, dtype=torch.float64, device="meta"))()
    return counted.count


def captured(step: Step) -> Step:
    """The step as a CUDA graph, which reads the same tensors again when it is replayed."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        outputs = step()

    def replay() -> list[torch.Tensor]:
        graph.replay()
        return outputs

    return replay


def measured(
    name: str, nodes: PathNodes, target: torch.Tensor, draft: torch.Tensor, repeats: int
) -> Measured:
    """Measure one verifier on the rows' device."""
    uniforms = torch.rand(2, dtype=torch.float64, device=target.device)
    step = steps(name, nodes, target, draft, uniforms)
    on_path = torch.as_tensor(nodes.path_nodes[0, :-1].copy(), device=target.device)
    of_path = target[on_path], draft[on_path]
    count = launches(name, nodes, target.shape[1])
    unit = milliseconds(lambda: [torch.minimum(*of_path).sum()], repeats, target.device)
    plain = milliseconds(step, repeats, target.device)
    if target.device.type != "cuda":
        return Measured(count, unit, plain, None, "no CUDA")
    try:
        replay = captured(step)
    except RuntimeError as error:
        return Measured(count, unit, plain, None, str(error).splitlines()[0])
    replayed = milliseconds(replay, repeats, target.device)
    # The graph must see what changes in its rows: the same laws, of other nodes.
    for rows in (target, draft):
        rows.copy_(rows.roll(1, dims=1))
    pairs = zip(replay(), step(), strict=True)
    apart = max(float((one - other).abs().amax()) for one, other in pairs)
    return Measured(count, unit, plain, replayed, None if apart <= 1e-9 else f"differs by {apart:.1e}")


def milliseconds(step: Step, repeats: int, device: torch.device) -> float:
    """Median time of a step, the device's work included."""
    times = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        float(step()[0].reshape(-1)[0])
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times[1:])


def table(vocab: int, paths: int, length: int, device: torch.device, repeats: int) -> list[str]:
    """Lines of the table, for random rows and paths that meet at the beginning."""
    generator = torch.Generator().manual_seed(2)
    nodes = PathNodes(torch.randint(2, (paths, length), generator=generator))
    target, draft = (
        torch.randn(count, vocab, generator=generator).softmax(-1).to(device)
        for count in (len(nodes), nodes.inner)
    )
    lines = [f"{'verifier':12} {'launches':>8} {'unit ms':>8} {'ms':>8} {'graph ms':>9} {'plain/graph':>12}"]
    for name in VERIFIERS:
        found = measured(name, nodes, target, draft, repeats)
        line = f"{name:12} {found.launches:8} {found.unit:8.3f} {found.plain:8.3f}"
        if found.replayed is None:
            lines.append(f"{line} {'-':>9} {'-':>12} ({found.why_not})")
        else:
            note = f" ({found.why_not})" if found.why_not else ""
            lines.append(f"{line} {found.replayed:9.3f} {found.plain / found.replayed:12.1f}{note}")
    return lines
