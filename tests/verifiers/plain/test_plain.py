"""The plain verifiers: the same laws as the fast ones, lossless, and short."""

from __future__ import annotations

import ast
import itertools
import tokenize
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from faulty_verifiers import FAULTY
from nodebudget.lp import Instance, random_instance, solve_multi_path
from nodebudget.verifiers import VERIFIERS, DraftTree, Verifier, plain
from nodebudget.verifiers.audit import audit_exact
from nodebudget.verifiers.plain.scores import child_state, win_chances
from nodebudget.verifiers.plain.shared import Context, Laws, Number, Outcomes, Row

FOLDER = Path(plain.__file__).parent
ROOT = Path(__file__).parents[3]
LONGEST = 40
"""Lines of code in a file, without docstrings, comments, imports and blank lines."""

INSTANCES = {
    "one token, two paths": (random_instance("flat", 2, 1, seed=1), 2),
    "one token, three paths": (random_instance("flat", 3, 1, seed=2), 3),
    "two tokens": (random_instance("flat", 3, 2, seed=4), 2),
    "zeros": (random_instance("flat", 3, 2, seed=8, zeros=0.3), 2),
    "three tokens": (random_instance("flat", 2, 3, seed=5, zeros=0.2), 2),
    "three paths": (random_instance("flat", 2, 2, seed=6), 3),
    "one path": (random_instance("flat", 3, 3, seed=7, zeros=0.2), 1),
    "p = q": (random_instance("identical", 3, 2, seed=3), 2),
    "one-hot": (random_instance("flat", 3, 2, seed=9, zeros=1.0), 3),
    "ties of p/q": (
        Instance.from_laws(
            3,
            1,
            {
                (): [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)],
                **{(y,): [Fraction(1, 3)] * 3 for y in range(3)},
            },
            {(): [Fraction(3, 8), Fraction(3, 8), Fraction(1, 4)]},
        ),
        3,
    ),
}
OF_TREES = {"recursive_rejection", "greedy", "lift", "race", "spechub", "transport", "transport_sample"}
"""The plain verifiers of drafted trees; test_plain_trees.py compares them."""

TWINS = [name for name in plain.__all__ if not name.startswith("on_") and name not in OF_TREES]
EACH = pytest.mark.parametrize("name", TWINS)


def every_tree(instance: Instance, paths: int) -> Iterator[DraftTree]:
    leaves = [instance.tree.path(z) for z in instance.tree.leaves if instance.joint_draft[z] > 0]
    for drafted in itertools.product(leaves, repeat=paths):
        yield DraftTree.from_instance(instance, drafted)


def test_every_verifier_has_a_plain_twin() -> None:
    assert set(TWINS) >= {"token", "bv", "gbv", "nss", "specinfer", "spectr", "traversal", "mixed"}
    assert set(TWINS) <= set(VERIFIERS)


@pytest.mark.parametrize("case", INSTANCES)
@EACH
def test_plain_and_fast_are_one_law(name: str, case: str) -> None:
    law = plain.on_tree(getattr(plain, name).law)
    for tree in every_tree(*INSTANCES[case]):
        assert (law(tree).joint() == VERIFIERS[name].law(tree).joint()).all(), tree.nodes.path_nodes


@pytest.mark.parametrize("faulty", FAULTY, ids=lambda verifier: verifier.name)
def test_control_a_faulty_law_is_another_one(faulty: Verifier) -> None:
    fast = {"block": "bv", "greedy": "gbv"}
    name = faulty.name.split(":")[0]
    law = VERIFIERS[fast.get(name, name)].law
    assert any(
        (faulty.law(tree).joint() != law(tree).joint()).any()
        for case in INSTANCES.values()
        for tree in every_tree(*case)
    )


@EACH
def test_lossless(name: str) -> None:
    plain_one = Verifier(name, plain.on_tree(getattr(plain, name).law), True, "to be read")
    for case in ("one token, three paths", "zeros", "three tokens"):
        instance, paths = INSTANCES[case]
        found = audit_exact(plain_one, instance, paths, optimum=solve_multi_path(instance, paths))
        assert found.lossless, found.faults
        assert found.gap >= 0


def test_any_orderings_are_lossless_that_look_at_the_path_only() -> None:
    """Statement 12.1, with orderings of the test's own: two families, one of them with ties."""

    def orderings(
        z: Context, p: Row, q: Row, w: Number, states: list[Row], remaining: int
    ) -> tuple[list[Row], list[list[int]]]:
        if not z:
            states = [[share * g for g in states[0]] for share in (Fraction(1, 3), Fraction(2, 3))]
        return states, [[len(z), 2, 1], [0, int(w == 1), 0]]

    def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
        return plain.mixed.law(paths, target, draft, orderings)

    instance, _ = INSTANCES["two tokens"]
    assert audit_exact(Verifier("mine", plain.on_tree(law), True, "test"), instance, 2).lossless


def test_control_orderings_that_look_at_the_draft_are_not() -> None:
    def law(paths: tuple[Context, ...], target: Laws, draft: Laws) -> Outcomes:
        """The token that the first path begins with is ranked highest."""
        return plain.mixed.law(
            paths,
            target,
            draft,
            lambda z, p, q, w, states, remaining: (states, [[int(y != paths[0][0]) for y in range(3)]]),
        )

    instance, _ = INSTANCES["two tokens"]
    assert not audit_exact(Verifier("mine", plain.on_tree(law), True, "test"), instance, 2).lossless


def test_chances_of_the_largest_score() -> None:
    half, whole = (Fraction(0), Fraction(1, 2)), (Fraction(0), Fraction(1))
    assert win_chances([whole] * 3) == [Fraction(1, 3)] * 3
    assert win_chances([half, (Fraction(1, 2), Fraction(1, 2))]) == [0, 1]
    # Uniform in [0, 1/2] against [0, 1]: with probability 1/2 the second is above 1/2, else it is a toss.
    assert win_chances([half, whole]) == [Fraction(1, 4), Fraction(3, 4)]


def test_state_of_a_child() -> None:
    """G(t) = t^3 with c = 1/2 and B = 1/3: (1/2 + t/3)^3 - 1/8 over 1/3 is 3/4 t + 1/2 t^2 + 1/9 t^3."""
    assert child_state([0, 0, 1], Fraction(1, 2), Fraction(1, 3)) == [
        Fraction(3, 4),
        Fraction(1, 2),
        Fraction(1, 9),
    ]


def test_motivating_example_by_hand() -> None:
    """p = (1, 2)/3 and q = (2, 1)/3 everywhere, path (0, 0): w is 1, 1/2, 1/4, and h_1 = 0 since S_1 = 0."""
    p, q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
    S = max(Fraction(0), p[0] / 2 - q[0]) + max(Fraction(0), p[1] / 2 - q[1])
    assert (
        S == 0
    )  # 1/6 < 2/3 and 1/3 = 1/3: nothing is left after one token, and its coin never shows success
    found = plain.bv.law(((0, 0),), lambda z: p, lambda z: q)
    assert found[(0, 0), 0] == Fraction(1, 4) / 3
    assert found[(0, 0), 1] == Fraction(1, 4) * 2 / 3
    assert found[(0,), 0] == found[(0,), 1] == 0
    assert found[(), 1] == Fraction(3, 4)  # the residual at the root is max(0, p - q), all of it on token 1


def test_what_the_adapter_refuses() -> None:
    row = np.array([0.5, 0.5])
    floats = DraftTree.from_paths([[0]], lambda z: row, lambda z: row)
    with pytest.raises(ValueError, match="expected an exact tree"):
        plain.on_tree(plain.bv.law)(floats)
    exact = DraftTree.from_paths([[0]], lambda z: [Fraction(1, 2)] * 2, lambda z: [Fraction(1, 2)] * 2)
    with pytest.raises(ValueError, match="expected a prefix of a drafted path"):
        plain.on_tree(lambda paths, target, draft: {((1,), 0): 1})(exact)


def code_lines(source: str) -> int:
    """Lines with code, without imports and docstrings (any statement that is only a string)."""
    tree = ast.parse(source)
    skipped: set[int] = set()
    for node in ast.walk(tree):
        text = (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        )
        if text or isinstance(node, ast.Import | ast.ImportFrom):
            skipped |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    ignored = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines = iter(source.splitlines(keepends=True))
    found = {
        line
        for part in tokenize.generate_tokens(lambda: next(lines, ""))
        if part.type not in ignored
        for line in range(part.start[0], part.end[0] + 1)
    }
    return len(found - skipped)


def test_code_lines_are_counted() -> None:
    source = (
        '"""Door."""\nimport os\n\nX = 1\n# Why.\ndef f() -> int:\n    """What."""\n    return (\n    X)\n'
    )
    assert code_lines(source) == 4


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_each_file_is_short(file: Path) -> None:
    assert code_lines(file.read_text(encoding="utf-8")) <= LONGEST


@EACH
def test_each_file_says_where_it_comes_from_and_where_the_fast_twin_is(name: str) -> None:
    text = getattr(plain, name).__doc__
    assert "Source: " in text
    assert "statement" in text
    twin = text.split("The fast twin is `algorithms/")[1].split("`")[0]
    fast = (FOLDER.parent / "algorithms" / twin).read_text(encoding="utf-8")
    assert f"nodebudget.verifiers.plain.{name}" in fast
    assert VERIFIERS[name].law.__module__ == f"nodebudget.verifiers.algorithms.{twin.removesuffix('.py')}"


def test_the_command_judges_a_plain_verifier(
    run_command: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/auditing.md shows it, and one that accepts the first token without a look at the target."""
    guide = (ROOT / "docs" / "auditing.md").read_text(encoding="utf-8")
    example = guide.split("In a file `my_plain.py`:\n\n```python\n")[1].split("```")[0]
    careless = "careless = plain.on_tree(lambda paths, target, draft: {(paths[0][:1], 0): 1})\n"
    (tmp_path / "my_plain.py").write_text(example + careless, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    instance = str(ROOT / "tests" / "cases" / "motivating.json")
    code, out, _ = run_command("audit", "my_plain:last_path", instance, "--paths", "2")
    assert code == 0
    shown = guide.split("| grep verdict\n")[1].split("\n")[0]
    assert shown in out.splitlines()
    code, out, _ = run_command("audit", "my_plain:careless", instance, "--paths", "2")
    assert code == 1
    assert "NOT lossless" in out
