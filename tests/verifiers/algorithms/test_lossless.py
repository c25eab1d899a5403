"""Every verifier is lossless: exact enumeration of all drafted tuples on small instances."""

from fractions import Fraction

import pytest
from drafted_tuples import LawFunction, Table, budgets, distance_from_target, output_law
from nodebudget.lp.instances.families import random_instance
from nodebudget.lp.instances.instance import Instance
from nodebudget.verifiers import VERIFIERS, AcceptanceLaw, DraftTree, Verifier

SIZES = [
    (1, 2, 3), (2, 1, 1), (2, 1, 3), (2, 2, 2), (2, 3, 2), (3, 1, 2), (3, 1, 3), (3, 2, 1),
    (3, 2, 2), (3, 3, 1), (4, 1, 2), (4, 1, 3), (4, 2, 1),
]  # fmt: skip
"""V, L, K."""

KINDS = [("flat", 0.0), ("flat", 0.35), ("flat", 1.0), ("identical", 0.2)]
"""Family and share of zeros; 1.0 makes every law one-hot, as at temperature 0."""


@pytest.mark.parametrize(("family", "zeros"), KINDS)
@pytest.mark.parametrize("verifier", VERIFIERS.values(), ids=list(VERIFIERS))
def test_lossless(verifier: Verifier, family: str, zeros: float) -> None:
    for vocab, depth, count in SIZES:
        instance = random_instance(family, vocab, depth, seed=vocab + depth + count, zeros=zeros)
        table = output_law(verifier.law, instance, count)
        assert all(type(mass) is Fraction and mass >= 0 for row in table.values() for mass in row)
        assert distance_from_target(instance, table) == 0, (vocab, depth, count)


@pytest.mark.parametrize("verifier", VERIFIERS.values(), ids=list(VERIFIERS))
def test_lossless_with_many_duplicates(verifier: Verifier) -> None:
    instance = random_instance("flat", 2, 2, seed=5, zeros=0.2)
    assert distance_from_target(instance, output_law(verifier.law, instance, 4)) == 0


@pytest.mark.parametrize("name", ["token", "bv"])
def test_single_path_verifiers_ignore_the_other_paths(name: str) -> None:
    instance = random_instance("flat", 3, 2, seed=3)
    law = VERIFIERS[name].law
    one, two = (without_empty(output_law(law, instance, count)) for count in (1, 2))
    assert one == two


@pytest.mark.parametrize(
    ("name", "single"), [("gbv", "bv"), ("traversal", "bv"), ("specinfer", "token"), ("spectr", "token")]
)
@pytest.mark.parametrize("zeros", [0.0, 0.3])
def test_on_one_path_verifiers_agree(name: str, single: str, zeros: float) -> None:
    instance = random_instance("flat", 3, 3, seed=8, zeros=zeros)
    one, other = (output_law(VERIFIERS[which].law, instance, 1) for which in (name, single))
    assert one == other


@pytest.mark.parametrize("seed", range(4))
def test_budgets_of_token_and_block_verification(seed: int) -> None:
    instance = random_instance("flat", 3, 2, seed, zeros=0.25)
    token, block = (
        budgets(output_law(VERIFIERS[name].law, instance, 1), instance) for name in ("token", "bv")
    )
    tree = instance.tree
    for node in range(1, len(tree)):
        string = tree.path(node)
        target, draft = instance.target[node], instance.draft[node]
        assert token[string] == token[string[:-1]] * min(target, draft)
        assert block[string] == min(instance.joint_draft[node], target * block[string[:-1]])
        assert block[string] >= token[string]


def test_motivating_example() -> None:
    target, draft = (Fraction(1, 3), Fraction(2, 3)), (Fraction(2, 3), Fraction(1, 3))
    contexts = [(), (0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1)]
    instance = Instance.from_laws(2, 2, dict.fromkeys(contexts, target), dict.fromkeys(contexts[:3], draft))
    for name, value in (("token", Fraction(10, 9)), ("bv", Fraction(11, 9))):
        found = budgets(output_law(VERIFIERS[name].law, instance, 1), instance)
        assert sum(found[string] for string in contexts[1:]) == value


def without_empty(table: Table) -> Table:
    return {string: row for string, row in table.items() if any(row)}


def always_first(tree: DraftTree) -> AcceptanceLaw:
    """A wrong verifier: accept all of the first path."""
    joint = tree.target * 0
    leaf = int(tree.nodes.path_nodes[0, -1])
    joint[leaf] = tree.target[leaf]
    return AcceptanceLaw.from_joint(tree, joint)


def token_residual_from_target(tree: DraftTree) -> AcceptanceLaw:
    """A wrong verifier: token verification that draws a correction from the target."""
    stop = VERIFIERS["token"].law(tree).stop
    return AcceptanceLaw.from_joint(tree, stop[:, None] * tree.target)


@pytest.mark.parametrize("law", [always_first, token_residual_from_target])
def test_a_wrong_verifier_is_not_lossless(law: LawFunction) -> None:
    instance = random_instance("flat", 3, 2, seed=1)
    table = output_law(law, instance, 2)
    assert sum(map(sum, table.values())) == 1
    assert distance_from_target(instance, table) > Fraction(1, 50)
