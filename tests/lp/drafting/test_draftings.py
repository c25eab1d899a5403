"""Every drafting against what it says of itself: the list of its trees, drawn one by one, and what they hit."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nodebudget.lp import (
    Instance,
    PrefixTree,
    enumerate_antichains,
    instance_from_json,
    random_instance,
    solve_multi_path,
)
from nodebudget.lp.drafting import (
    Delayed,
    Drafting,
    GivenTree,
    IidPaths,
    Likeliest,
    LikeliestAndSample,
    ListedTrees,
    WithoutReplacement,
    WithReplacement,
    best_tree,
)
from nodebudget.lp.drafting.drafting import require_full
from nodebudget.lp.drafting.specs import parse_drafting
from nodebudget.lp.drafting.supports import support

CASES = sorted((Path(__file__).parents[2] / "cases" / "drafts").glob("*.json"))
F = Fraction

DRAFTINGS: list[Drafting] = [
    IidPaths(1),
    IidPaths(3),
    WithReplacement(2, 2),
    WithReplacement(1, 3),
    WithoutReplacement(2, 2),
    WithoutReplacement(3, 1),
    LikeliestAndSample(2, 2),
    LikeliestAndSample(3, 1),
    LikeliestAndSample(1, 2),
    Likeliest(2, 1),
    Delayed(1, 2),
    GivenTree([(0,), (2,), (2, 1), (2, 0)]),
    ListedTrees([([(0,), (0, 1)], F(1, 3)), ([(1,), (2,), (1, 2)], F(1, 2)), ([(0,)], F(1, 6))]),
]


def instances() -> list[Instance]:
    """Flat laws with and without zeros, ties, one-hot laws, and equal models; V = 3, L = 2."""
    one_hot = [F(0), F(1), F(0)]
    thirds = [F(1, 3)] * 3
    halves = [F(1, 2), F(0), F(1, 2)]
    contexts = [(), (0,), (1,), (2,)]
    return [
        *(random_instance("flat", 3, 2, seed) for seed in range(3)),
        random_instance("flat", 3, 2, 5, zeros=0.4),
        random_instance("identical", 3, 2, 1),
        Instance.from_laws(3, 2, dict.fromkeys(contexts, thirds), dict.fromkeys(contexts, thirds)),
        Instance.from_laws(3, 2, dict.fromkeys(contexts, halves), dict.fromkeys(contexts, one_hot)),
        Instance.from_laws(3, 2, dict.fromkeys(contexts, thirds), dict.fromkeys(contexts, halves)),
    ]


def hit_by_listing(drafting: Drafting, instance: Instance, nodes: tuple[int, ...]) -> Any:
    return sum((mass for tree, mass in drafting.trees(instance) if not set(tree).isdisjoint(nodes)), F(0))


def antichains(tree: PrefixTree) -> list[tuple[int, ...]]:
    return [tuple(sorted(nodes)) for nodes in enumerate_antichains(tree) if nodes != (0,)]


@pytest.mark.parametrize("drafting", DRAFTINGS, ids=str)
def test_what_is_hit_is_what_the_listed_trees_hit(drafting: Drafting) -> None:
    for instance in instances():
        listed = dict(drafting.trees(instance))
        assert sum(listed.values()) == 1
        assert all(nodes[0] == 0 and mass > 0 for nodes, mass in listed.items())
        for nodes in antichains(instance.tree)[:: 7 if len(listed) > 50 else 3]:
            wanted = sum((mass for tree, mass in listed.items() if not set(tree).isdisjoint(nodes)), F(0))
            assert drafting.hit_probability(instance, nodes) == wanted, nodes
        sizes = sum(((len(nodes) - 1) * mass for nodes, mass in listed.items()), F(0))
        assert drafting.expected_nodes(instance) == sizes
        assert drafting.most_nodes(instance) >= max(len(nodes) - 1 for nodes in listed)


def test_control_another_law_of_draws_is_seen() -> None:
    instance = random_instance("flat", 3, 2, 1)
    node = (int(np.argmax(instance.draft[1:4])) + 1,)
    with_, without = WithReplacement(2, 2), WithoutReplacement(2, 2)
    assert with_.hit_probability(instance, node) != hit_by_listing(without, instance, node)


def test_by_hand() -> None:
    """The draft 1/2, 3/10, 1/5: two draws without replacement and with, and the likeliest with one sample."""
    law = [F(1, 2), F(3, 10), F(1, 5)]
    instance = Instance.from_laws(3, 1, {(): law}, {(): law})
    last = (3,)
    assert WithReplacement(2).hit_probability(instance, last) == 1 - F(16, 25)
    # First, or second after one of the others.
    without = F(1, 5) + F(1, 2) * F(1, 5) / F(1, 2) + F(3, 10) * F(1, 5) / F(7, 10)
    assert WithoutReplacement(2).hit_probability(instance, last) == without
    assert LikeliestAndSample(2).hit_probability(instance, last) == F(1, 5) / F(1, 2)
    assert LikeliestAndSample(2).hit_probability(instance, (1,)) == 1
    assert Likeliest(2).hit_probability(instance, last) == 0


@pytest.mark.parametrize("drafting", DRAFTINGS, ids=str)
def test_trees_are_drawn_with_their_probabilities(drafting: Drafting) -> None:
    instance, rng, count = random_instance("flat", 3, 2, 2), np.random.default_rng(3), 3000
    drawn = Counter(
        tuple(sorted({0, *(instance.tree.find(path) for path in drafting.draw(instance, rng))}))
        for _ in range(count)
    )
    law = {nodes: float(mass) for nodes, mass in drafting.trees(instance)}
    assert drawn.keys() <= law.keys()
    # Pearson's statistic of the trees that are expected five times; its mean is their number, its deviation
    # the root of twice that.
    often = [nodes for nodes in law if law[nodes] * count >= 5]
    statistic = sum((drawn[nodes] - law[nodes] * count) ** 2 / (law[nodes] * count) for nodes in often)
    assert statistic < len(often) + 6 * (2 * len(often)) ** 0.5


@pytest.mark.parametrize("drafting", DRAFTINGS, ids=str)
def test_the_oracle_names_the_most_violated_antichain(drafting: Drafting) -> None:
    rng = np.random.default_rng(0)
    for instance in instances()[:5]:
        tree = instance.tree
        hits = {nodes: drafting.hit_probability(instance, nodes) for nodes in antichains(tree)}
        for _ in range(4):
            budgets = np.empty(len(tree), dtype=object)
            budgets[0] = F(1)
            for node in range(1, len(tree)):  # target-matching, so that stop masses are not negative
                share = F(int(rng.integers(0, 9)), 8)
                budgets[node] = budgets[tree.parent[node]] * instance.target[node] * share
            excess = {nodes: sum((budgets[z] for z in nodes), F(0)) - hit for nodes, hit in hits.items()}
            found = drafting.violated(instance, budgets)
            assert bool(found) == (max(excess.values()) > 0)
            for antichain in found:
                assert antichain.budget - antichain.hit == excess[antichain.nodes] > 0
            if found and found[0].hit and not isinstance(drafting, IidPaths | Likeliest | GivenTree):
                assert max(excess[antichain.nodes] for antichain in found) == max(excess.values())


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_optima_of_the_cases(path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    instance = instance_from_json(case["instance"])
    for entry in case["drafts"]:
        found = solve_multi_path(instance, parse_drafting(entry["draft"]))
        assert found.certified
        assert found.value == F(entry["optimum"]), entry["draft"]


@pytest.mark.parametrize("drafting", DRAFTINGS, ids=str)
def test_cuts_and_every_antichain_agree_in_rationals_and_floats(drafting: Drafting) -> None:
    for instance in instances():
        found = solve_multi_path(instance, drafting)
        assert found.certified
        assert bool(found.certificate.verify())  # type: ignore[union-attr]
        assert solve_multi_path(instance, drafting, method="enumerate").value == found.value
        assert abs(solve_multi_path(instance.to_float(), drafting, certify=False).value - found.value) < 1e-9


def test_several_names_of_one_drafting() -> None:
    for instance, paths in itertools.product(instances()[:4], (2, 3)):
        value = solve_multi_path(instance, paths).value
        assert solve_multi_path(instance, WithReplacement(paths, 1)).value == value
        assert solve_multi_path(instance, Delayed(0, paths)).value == value
        assert (
            solve_multi_path(instance, Delayed(1, paths)).value
            == solve_multi_path(instance, WithReplacement(1, paths)).value
        )


@pytest.mark.parametrize("kind", [WithReplacement, WithoutReplacement, LikeliestAndSample, Likeliest])
def test_more_draws_are_worth_at_least_as_much(kind: Any) -> None:
    for instance in instances():
        values = {
            k: solve_multi_path(instance, kind(*k)).value for k in itertools.product((1, 2, 3), repeat=2)
        }
        for one, two in values:
            assert one == 3 or values[one, two] <= values[one + 1, two]
            assert two == 3 or values[one, two] <= values[one, two + 1]


def test_without_replacement_is_worth_at_least_as_much_as_with() -> None:
    for seed, draws in itertools.product(range(6), (1, 2, 3)):
        instance = random_instance("flat", 4, 1, seed)
        with_, without = (
            solve_multi_path(instance, kind(draws)).value for kind in (WithReplacement, WithoutReplacement)
        )
        assert with_ <= without


def test_a_fixed_tree_is_worth_its_target_mass() -> None:
    for instance in instances():
        for drafting in (Likeliest(2, 2), GivenTree([(0,), (2,), (2, 1)])):
            nodes = drafting.nodes(instance) - {0}
            mass = sum((instance.joint_target[node] for node in nodes), F(0))
            assert solve_multi_path(instance, drafting).value == mass


def test_the_best_tree() -> None:
    law = [F(1, 2), F(3, 10), F(1, 5)]
    laws = dict.fromkeys([(), (0,), (1,), (2,)], law)
    instance = Instance.from_laws(3, 2, laws, laws)
    best = best_tree(instance, 3)
    assert best.paths == ((0,), (1,), (0, 0))
    assert solve_multi_path(instance, best).value == F(21, 20)
    chain = GivenTree([(0,), (0, 0)])
    assert solve_multi_path(instance, chain).value == F(3, 4)
    # Against every prefix-closed set of so many nodes.
    for seed, count in itertools.product(range(3), (1, 2, 4)):
        instance = random_instance("flat", 3, 2, seed)
        tree, mass = instance.tree, instance.joint_target
        sets = itertools.combinations(range(1, len(tree)), count)
        closed = [s for s in sets if all(tree.parent[z] == 0 or tree.parent[z] in s for z in s)]
        wanted = max(sum((mass[z] for z in s), F(0)) for s in closed)
        assert solve_multi_path(instance, best_tree(instance, count)).value == wanted


def test_two_strings_of_which_one_is_the_targets() -> None:
    """Target 01 or 10, the draft uniform: a set of K paths misses one of the first tokens with probability 2^-K."""
    half, zero, one = F(1, 2), F(0), F(1)
    instance = Instance.from_laws(
        2,
        2,
        {(): [half, half], (0,): [zero, one], (1,): [one, zero]},
        {c: [half, half] for c in [(), (0,), (1,)]},
    )
    for paths in (1, 2, 3):
        assert solve_multi_path(instance, paths).value == 2 - F(1, 2**paths)
    assert solve_multi_path(instance, GivenTree([(0,), (1,), (0, 1), (1, 0)])).value == 2


def test_equally_likely_tokens_are_taken_from_the_smaller_id_on() -> None:
    law = [F(1, 4), F(3, 8), F(3, 8)]
    instance = Instance.from_laws(3, 1, {(): law}, {(): law})
    assert support(instance, 0).tokens == (1, 2, 0)
    assert Likeliest(1).strings(instance) == ((1,),)


def test_fewer_tokens_with_mass_than_draws() -> None:
    half = [F(1, 2), F(0), F(1, 2)]
    instance = Instance.from_laws(3, 1, {(): half}, {(): half})
    for drafting in (WithoutReplacement(3), LikeliestAndSample(3), Likeliest(3)):
        assert dict(drafting.trees(instance)) == {(0, 1, 3): 1}
        assert drafting.draw(instance, np.random.default_rng(0)) in (((0,), (2,)), ((2,), (0,)))


def test_a_sparse_instance_knows_hits_but_no_list() -> None:
    full = random_instance("flat", 3, 2, 5, zeros=0.4)
    sparse = full.prune()
    assert len(sparse.tree) < len(full.tree)
    for drafting in (
        WithReplacement(2, 2),
        WithoutReplacement(2, 2),
        LikeliestAndSample(2, 1),
        Likeliest(2, 2),
    ):
        assert solve_multi_path(sparse, drafting).value == solve_multi_path(full, drafting).value
    with pytest.raises(ValueError, match="needs the full tree"):
        require_full(sparse, "x")
    for drafting in (WithReplacement(2, 2), Likeliest(2, 2)):
        with pytest.raises(ValueError, match="needs all nodes with draft mass; this instance is sparse"):
            drafting.expected_nodes(sparse)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: GivenTree([(0, 1)]), "the node '0,1' has no parent '0' in the tree"),
        (lambda: GivenTree([(0,), (0,)]), "the node '0' is given twice"),
        (lambda: GivenTree([(-1,)]), "expected token ids, at least 0"),
        (lambda: WithReplacement(), "expected how many are drawn at each length"),
        (lambda: WithoutReplacement(2, 0), "expected how many are drawn at each length"),
        (lambda: Delayed(-1, 2), "trunk: got -1"),
        (lambda: IidPaths(0), "paths: got 0"),
        (lambda: ListedTrees([([(0,)], F(1, 2))]), "sum to 1/2; expected 1"),
        (lambda: ListedTrees([]), "at least one tree"),
        (
            lambda: solve_multi_path(random_instance("flat", 3, 2, 1), WithReplacement(2)),
            "expected one for each",
        ),
        (lambda: solve_multi_path(random_instance("flat", 3, 2, 1), Delayed(2, 2)), "expected a shorter one"),
        (
            lambda: solve_multi_path(random_instance("flat", 3, 2, 1), GivenTree([(3,)])),
            "the node '3' is not on a tree of depth 2 over 3 tokens",
        ),
    ],
)
def test_what_cannot_be_drafted_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


@pytest.mark.parametrize(
    "spec", ["iid:4", "with:2,2", "without:2,1", "top-sample:3,2", "top:2,2", "delayed:1,4", "delayed:0,2"]
)
def test_texts_are_read_and_written(spec: str) -> None:
    assert str(parse_drafting(spec)) == spec


def test_a_tree_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "tree.json"
    file.write_text('["0", "1", "0,2"]', encoding="utf-8")
    assert parse_drafting(f"tree:{file}") == GivenTree([(0,), (1,), (0, 2)])
    for text, said in (
        ('["0,2"]', "has no parent '0'"),
        ("[[0]]", "expected a list of token strings"),
        ("{", ""),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ValueError, match=said):
            parse_drafting(f"tree:{file}")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("", "expected iid:4, with:2,2"),
        ("iid", "expected iid:4"),
        ("iid:", "expected iid:4"),
        ("iid:2,2", "one number"),
        ("iid:0", "at least 1"),
        ("iid:-1", "expected iid:4"),
        ("with:2,x", "expected iid:4"),
        ("with:1_0", "expected iid:4"),
        ("with:\uff12", "expected iid:4"),
        ("delayed:1", "two numbers"),
        ("forest:1", "expected iid:4"),
        ("tree:", "expected iid:4"),
        ("with:" + "9" * 5000, "with:99"),
    ],
)
def test_bad_texts_are_told_what_would_be_right(spec: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        parse_drafting(spec)
    assert len(str(raised.value)) < 300
