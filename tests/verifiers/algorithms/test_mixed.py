"""Mixed multi-path block verification: lossless for any node rule, both its ends, its law in floats."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from flint import fmpq
from nodebudget.lp import (
    Instance,
    Selection,
    accepted_tokens,
    block_budgets,
    depth_one_optimum,
    greedy_skewed_draft,
    instance_from_json,
    load_instance,
    random_instance,
    skewed_draft,
)
from nodebudget.lp.selection.cells import CELLS
from nodebudget.lp.selection.node_choices import NodeChoice, choose, lifted, root_state
from nodebudget.lp.selection.node_rules import neutral, ratio_ranking
from nodebudget.lp.selection.scores import OnPath
from nodebudget.lp.selection.selections import MIXED, QUICK, mixed_selection
from nodebudget.verifiers import VERIFIERS, AcceptanceLaw, DraftTree, mixed_verifier
from nodebudget.verifiers.algorithms import mixed_multipath
from nodebudget.verifiers.algorithms.score_contest import win_chances
from nodebudget.verifiers.arithmetic.arrays import Arrays
from nodebudget.verifiers.audit import audit_exact
from nodebudget.verifiers.audit.exact import scored_picks

CASES = Path(__file__).parents[2] / "cases"


def scrambled(data: OnPath) -> np.ndarray:
    """Orderings with ties from the digits of the draft's law: another in every context and family."""
    nodes, families = data.state.shape[:2]
    keys = (data.draft * 997 + data.target * 1009).astype(np.float64) % 1
    turned = [(keys * (3 + 2 * r)) % 1 for r in range(families)]
    return (np.stack(turned, axis=1) * 3).astype(np.int64).reshape(nodes, families, -1)


SCRAMBLED = Selection(scrambled, (0.5, 0.25, 0.25))


@pytest.mark.parametrize(("vocab", "depth", "paths"), [(2, 3, 2), (3, 2, 2), (3, 1, 4), (2, 2, 3)])
@pytest.mark.parametrize("selection", [SCRAMBLED, Selection(neutral), Selection(ratio_ranking), MIXED],
                         ids=["scrambled", "neutral", "ratio", "mixed"])  # fmt: skip
def test_lossless_for_any_rule_and_the_budgets_are_those_of_one_pass(
    vocab: int, depth: int, paths: int, selection: Selection
) -> None:
    instance = random_instance("flat", vocab, depth, seed=7, zeros=0.2)
    found = audit_exact(mixed_verifier(selection), instance, paths)
    assert found.lossless, found.faults
    nu, budgets = skewed_draft(instance, paths, selection)
    assert (found.budgets == budgets).all()
    assert (nu >= budgets).all()
    assert sum(nu[leaf] for leaf in instance.tree.leaves) == 1


def test_the_pick_by_scores_is_the_skewed_draft() -> None:
    instance = random_instance("flat", 3, 2, seed=2, zeros=0.2)
    for selection in (SCRAMBLED, MIXED):
        nu, _ = skewed_draft(instance, 3, selection)
        scores = mixed_verifier(selection).scores
        assert scores is not None
        assert all(nu[leaves[0]] == chance for leaves, chance in scored_picks(scores, instance, 3))


def test_audits_by_tuples_and_by_scores_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance("flat", 3, 2, seed=2, zeros=0.2)
    slow = audit_exact(VERIFIERS["mixed"], instance, 2)
    monkeypatch.setattr("nodebudget.verifiers.audit.exact.SCORES_FROM", 0)
    fast = audit_exact(VERIFIERS["mixed"], instance, 2)
    assert (slow.joint == fast.joint).all()


def test_scores_that_are_not_uniform_are_refused() -> None:
    instance = random_instance("flat", 3, 1, seed=2)

    def halved(tree: DraftTree) -> tuple[object, object, object]:
        probability, low, length = mixed_multipath.scores(tree)
        return probability, low, length / 2

    with pytest.raises(ValueError, match="not uniform"):
        list(scored_picks(halved, instance, 2))


def test_control_orderings_that_depend_on_what_was_drafted() -> None:
    instance = random_instance("flat", 3, 1, seed=3)

    def peeking(tree: DraftTree) -> AcceptanceLaw:
        first = int(tree.nodes.token[tree.nodes.path_nodes[0, 1]])

        def rule(data: OnPath) -> np.ndarray:
            return (np.arange(3) != first).astype(np.int64)[None, None]

        return mixed_multipath.law(tree, Selection(rule))

    found = audit_exact(replace(VERIFIERS["mixed"], law=peeking, ordered=True), instance, 2)
    assert not found.target_matching


def test_control_a_state_that_forgets_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = random_instance("flat", 2, 2, seed=3)
    verifier = mixed_verifier(SCRAMBLED)
    assert audit_exact(verifier, instance, 2).lossless
    known = NodeChoice.next_states

    def unchanged(self: NodeChoice, places: np.ndarray, tokens: np.ndarray, draft: np.ndarray) -> np.ndarray:
        passing = known(self, places, tokens, draft).sum(axis=(1, 2))
        return self.state[places] * passing[:, None, None]

    monkeypatch.setattr(NodeChoice, "next_states", unchanged)
    other = Selection(scrambled, (0.25, 0.5, 0.25))  # remembered choices belong to the other one
    assert not audit_exact(mixed_verifier(other), instance, 2).target_matching


@pytest.mark.parametrize("paths", [1, 2, 3, 4])
def test_equal_laws_accept_everything(paths: int) -> None:
    instance = load_instance(CASES / "same_laws.json")
    assert accepted_tokens(skewed_draft(instance, paths)[1]) == 2
    assert audit_exact(VERIFIERS["mixed"], instance, min(paths, 2)).accepted_tokens == 2


def test_depth_one_is_optimal() -> None:
    for seed in range(5):
        for vocab in (2, 3, 5):
            instance = random_instance("flat", vocab, 1, seed=seed, zeros=0.1 * (seed % 2))
            for paths in (1, 2, 4):
                budgets = skewed_draft(instance, paths)[1]
                assert accepted_tokens(budgets) == depth_one_optimum(instance, paths), (seed, vocab, paths)
                floats = skewed_draft(instance.to_float(), paths)[1]
                assert abs(accepted_tokens(floats) - float(accepted_tokens(budgets))) < 1e-4


def test_an_instance_where_it_is_below_greedy_multipath() -> None:
    instance = random_instance("markov", 3, 2, seed=93, zeros=0.3)
    value = accepted_tokens(skewed_draft(instance, 2)[1])
    greedy = accepted_tokens(block_budgets(instance, greedy_skewed_draft(instance, 2)))
    assert accepted_tokens(block_budgets(instance)) < value < greedy == Fraction(71, 56)


def tied_root(good: int, bad: int) -> Instance:
    """Tokens 1 and 2 have the same ratio at the root; below the good one laws overlap, below the bad one not."""
    half, none = Fraction(1, 2), Fraction(0)
    sevenths = [Fraction(k, 7) for k in (3, 2, 2)]
    target = {
        (): [none, half, half],
        (0,): sevenths,
        (good,): [half / 2, half, half / 2],
        (bad,): [half, none, half],
    }
    draft = {(): sevenths, (0,): sevenths, (good,): [none, half, half], (bad,): [none, none + 1, none]}
    return Instance.from_laws(3, 2, target, draft)


def test_a_tie_can_send_the_mass_where_it_is_of_use() -> None:
    """The root keeps 1 - (3/7)^2 = 40/49; of what comes to the good token, 24, 16 or 20 of 49, three quarters go on."""
    for good, bad, through in ((1, 2, 24), (2, 1, 16)):
        instance = tied_root(good, bad)
        greedy = block_budgets(instance, greedy_skewed_draft(instance, 2))
        assert accepted_tokens(greedy) == Fraction(40, 49) + Fraction(3, 4) * Fraction(through, 49)
        assert accepted_tokens(skewed_draft(instance, 2)[1]) == Fraction(40, 49) + Fraction(3, 4) * Fraction(
            20, 49
        )


def deterministic_below(depth: int) -> Instance:
    """Below token 1 the laws are disjoint; below 0 the target wants 0, and the draft too, but for one level."""
    half, one, zero = Fraction(1, 2), Fraction(1), Fraction(0)
    target: dict[tuple[int, ...], list[Fraction]] = {(): [Fraction(1, 4), Fraction(3, 4)]}
    draft: dict[tuple[int, ...], list[Fraction]] = {(): [half, half]}
    for d in range(1, depth):
        for context in itertools.product((0, 1), repeat=d):
            target[context] = [one, zero]
            draft[context] = [zero, one] if context[0] else [half, half] if d == 1 else [one, zero]
    return Instance.from_laws(2, depth, target, draft)


def test_instances_where_it_is_below_block_verification() -> None:
    """BV accepts 1/4 + 1/2 tokens first and 1/4 at each level below; fair supply 1 first, then 1/4 (1 - 1/4) each."""
    instance = deterministic_below(6)
    assert accepted_tokens(block_budgets(instance)) == 2
    assert accepted_tokens(skewed_draft(instance, 2)[1]) == Fraction(31, 16)
    target = [[1, 3, 2], [3, 3, 0], [0, 1, 4], [1, 3, 0]]
    draft = [[4, 4, 0], [1, 1, 4], [4, 4, 0], [3, 3, 3]]
    contexts: list[tuple[int, ...]] = [(), (0,), (1,), (2,)]
    laws = (
        {c: [Fraction(x, sum(row)) for x in row] for c, row in zip(contexts, rows, strict=True)}
        for rows in (target, draft)
    )
    short = Instance.from_laws(3, 2, *laws)
    assert accepted_tokens(skewed_draft(short, 2)[1]) < accepted_tokens(block_budgets(short))


def test_close_to_what_on_path_information_allows() -> None:
    document = json.loads((CASES / "offpath.json").read_text())
    pair = [instance_from_json(part) for part in document["instances"]]
    value = sum(float(accepted_tokens(skewed_draft(instance, 2)[1])) for instance in pair)
    assert 3.005 < value <= document["expected"]["2"]["on_path_optimum"]


def test_one_path_is_block_verification() -> None:
    instance = random_instance("flat", 3, 2, seed=5)
    one, other = (audit_exact(VERIFIERS[name], instance, 1) for name in ("mixed", "bv"))
    assert (one.joint == other.joint).all()


SMALL = [
    (file.stem, paths)
    for file in sorted(CASES.glob("*.json"))
    if "instance" in (document := json.loads(file.read_text()))
    for paths in map(int, document["expected"]["paths"])
    if (file.stem, paths) != ("random_v4_l3_s18", 3)  # by scores alone it takes half a minute
]


@pytest.mark.parametrize(("case", "paths"), SMALL)
def test_lossless_on_the_cases(case: str, paths: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nodebudget.verifiers.audit.exact.SCORES_FROM", 200)
    instance = load_instance(CASES / f"{case}.json")
    found = audit_exact(VERIFIERS["mixed"], instance, paths)
    assert found.lossless, found.faults
    assert found.gap >= 0
    if instance.depth == 1 or case == "same_laws":
        assert found.gap == 0


# Chances of the largest score.


def chances(low: list[Fraction], length: list[Fraction], counts: list[int], exact: bool) -> list[float]:
    kind = object if exact else np.float64
    make = (lambda x: fmpq(x.numerator, x.denominator)) if exact else float
    rows = [np.array([[make(value) for value in part]], dtype=kind) for part in (low, length)]
    arrays = Arrays(rows[0], "float64")
    out = win_chances(arrays, *rows, np.ones((1, len(low)), dtype=bool), np.array(counts))
    return [float(Fraction(int(v.p), int(v.q)) if exact else v) for v in out[0]]


@pytest.mark.parametrize("exact", [True, False])
def test_chances_of_the_largest_score(exact: bool) -> None:
    half, one, zero = Fraction(1, 2), Fraction(1), Fraction(0)
    assert chances([zero, zero], [one, one], [1, 3], exact) == pytest.approx([1 / 4, 3 / 4])
    assert chances([zero, half], [half, half], [5, 1], exact) == pytest.approx([0, 1])
    # One uniform on [0, 1] against one on [1/2, 1]: it wins with 1/2 times 1/2.
    assert chances([zero, half], [one, half], [1, 1], exact) == pytest.approx([1 / 4, 3 / 4])
    # Against two of them: 1/2 times 1/3.
    assert chances([zero, half], [one, half], [1, 2], exact) == pytest.approx([1 / 6, 5 / 6])


def test_exact_and_float_chances_agree() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        leaves = int(rng.integers(2, 6))
        ends = [sorted(int(v) for v in rng.choice(20, size=2, replace=False)) for _ in range(leaves)]
        low = [Fraction(a, 20) for a, _ in ends]
        length = [Fraction(b - a, 20) for a, b in ends]
        counts = [int(v) for v in rng.integers(1, 5, size=leaves)]
        exact, floats = (chances(low, length, counts, kind) for kind in (True, False))
        assert sum(exact) == pytest.approx(1)
        assert floats == pytest.approx(exact, abs=1e-13)


# Large shapes.


@pytest.mark.parametrize(("precision", "tolerance"), [("float64", 1e-12), ("float32", 1e-5)])
def test_lossless_beyond_the_cells(precision: str, tolerance: float) -> None:
    """At depth one with more tokens than are ordered singly: what is emitted first is the target's law."""
    vocab, paths = 100, 4
    rng = np.random.default_rng(1)
    target, draft = rng.dirichlet(np.full(vocab, 0.3), size=2)
    one = DraftTree.from_paths([[0]] * paths, lambda _: target, lambda _: draft, dtype=precision)
    rows = [part[:1] for part in one.working_rows()]
    here = OnPath(rows[0], rows[1], one.arrays.ones(1), root_state(rows[1], paths), 1, one.rounding)
    # The skewed draft from the very rows that the laws below are computed from.
    choice = choose(mixed_selection(vocab), here, root=True)
    nu = lifted(rows[1], choice.lift, choice.cell)[0].astype(np.float64)
    emitted = np.zeros(vocab)
    for y in range(vocab):
        tree = DraftTree.from_paths([[y]] * paths, lambda _: target, lambda _: draft, dtype=precision)
        joint = np.asarray(VERIFIERS["mixed"].law(tree).joint(), dtype=np.float64)
        emitted += nu[y] * joint[0]
        emitted[y] += nu[y] * joint[1].sum()
    assert np.abs(emitted - target).sum() / 2 < tolerance
    assert np.abs(draft - target).sum() / 2 > 0.1


@pytest.mark.parametrize("vocab", [CELLS + 1, 200])
def test_cells_keep_what_nearly_equal_laws_have_to_gain(vocab: int) -> None:
    instance = random_instance("logits", vocab, 1, seed=0, similarity=0.95, concentration=0.5).to_float()
    single, best = (float(depth_one_optimum(instance, paths)) for paths in (1, 2))
    value = float(accepted_tokens(skewed_draft(instance, 2)[1]))
    assert 0.9 * (best - single) < value - single <= best - single + 1e-12


def test_large_vocabularies_have_a_selection_of_their_own() -> None:
    assert mixed_selection(CELLS) is MIXED
    assert mixed_selection(CELLS + 1) is QUICK


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_orderings_at_a_node_do_not_depend_on_what_else_was_drafted(library: str) -> None:
    vocab, nodes, paths = 200, 4, 3
    rng = np.random.default_rng(2)
    target, draft = rng.dirichlet(np.full(vocab, 0.2), size=(2, nodes))
    state = np.array(QUICK.families)[None, :, None] * rng.dirichlet(
        np.ones(paths), size=(nodes, len(QUICK.families))
    )
    weight = np.array([1, 0.7, 0.01, 1e-9])
    numbers = [target, draft, weight, state]
    if library == "torch":
        numbers = [torch.tensor(part) for part in numbers]
    data = OnPath(*numbers, 2, 1e-15)
    together = choose(QUICK, data, root=False)
    for node in range(nodes):
        alone = choose(QUICK, data.at([node]), root=False)
        assert (alone.lift[0] == together.lift[node]).all()
        assert alone.cell is None or (alone.cell[0] == together.cell[node]).all()
        assert (alone.ranks[0] == together.ranks[node]).all()
    searched = [len(np.unique(np.asarray(ranks))) > 1 for ranks in together.ranks]
    assert searched == [True, True, False, False]


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize(("vocab", "paths", "depth"), [(2, 64, 3), (5, 2, 64), (152_000, 2, 2)])
def test_large_shapes_give_laws(precision: str, vocab: int, paths: int, depth: int) -> None:
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((2, depth + 1, vocab)) * (1 if vocab < 10 else 3)
    target, draft = np.exp(logits) / np.exp(logits).sum(axis=2, keepdims=True)
    drawn = [[int(rng.choice(vocab, p=draft[i])) for i in range(depth)] for _ in range(paths)]
    tree = DraftTree.from_paths(
        drawn, lambda context: target[len(context)], lambda context: draft[len(context)], dtype=precision
    )
    stop = VERIFIERS["mixed"].law(tree).stop
    assert bool((stop >= 0).all())
    assert abs(float(stop.sum()) - 1) < (1e-12 if precision == "float64" else 1e-5)
    assert abs(float(VERIFIERS["mixed"].law(tree).next_row(0).sum()) - 1) < 1e-5


def test_floats_agree_with_rationals() -> None:
    instance = random_instance("flat", 4, 2, seed=3)
    paths = [(0, 1), (2, 3), (2, 0), (1, 1)]
    exact = VERIFIERS["mixed"].law(DraftTree.from_instance(instance, paths)).joint().astype(np.float64)
    floats = VERIFIERS["mixed"].law(DraftTree.from_instance(instance.to_float(), paths)).joint()
    assert np.abs(exact - floats).max() < 1e-12


def test_rules_are_checked() -> None:
    instance = random_instance("flat", 3, 1, seed=3)
    with pytest.raises(ValueError, match=r"node rule: got shape \(2,\); expected \(1, 1, 3\)"):
        skewed_draft(instance, 2, Selection(lambda data: np.zeros(2, dtype=np.int64)))
    with pytest.raises(ValueError, match="families"):
        Selection(neutral, (0.5, 0.25))
    with pytest.raises(ValueError, match="depth_one_steps"):
        Selection(neutral, depth_one_steps=-1)
