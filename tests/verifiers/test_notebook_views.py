"""How laws, verifiers and audits are shown: on one line, as a table, as a data frame; and wrong kinds."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import faulty_verifiers
import pytest
import torch
from nodebudget.lp import Instance, load_instance, mixed_selection, random_instance
from nodebudget.verifiers import (
    VERIFIERS,
    AcceptanceLaw,
    DraftTree,
    PathNodes,
    get_verifier,
    load_verifier,
    mixed_verifier,
)
from nodebudget.verifiers.audit import (
    ExactAudit,
    as_sampler,
    audit_exact,
    audit_sampler,
    audit_threshold_sampler,
    draft_tree,
)

CASES = Path(__file__).parents[1] / "cases"


def motivating() -> Instance:
    return load_instance(CASES / "motivating.json")


def one_line(shown: object, longest: int = 100) -> str:
    text = repr(shown)
    assert "\n" not in text
    assert len(text) <= longest
    assert not re.search("0x[0-9a-f]{6}", text)  # no address
    return text


def cells(html: str) -> list[list[str]]:
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    return [re.findall(r"<t[dh]>(.*?)</t[dh]>", row) for row in rows]


def audit(name: str, paths: int) -> ExactAudit:
    return audit_exact(name, motivating(), paths)


def test_verifiers() -> None:
    for verifier in VERIFIERS.values():
        assert one_line(verifier, longest=110).startswith(f"Verifier('{verifier.name}', ")
    assert "one path" in repr(VERIFIERS["bv"])
    assert "K paths" in repr(VERIFIERS["gbv"])
    lines = repr(VERIFIERS).splitlines()
    assert [line.split()[0] for line in lines] == list(VERIFIERS)
    assert "arXiv:2602.16961" in lines[2]
    assert isinstance(VERIFIERS, dict)


def test_an_exact_audit_is_one_line() -> None:
    # Block verification attains OPT_1 = 11/9 on the motivating instance.
    assert (
        one_line(audit("bv", 1)) == "ExactAudit('bv', K=1: lossless, E|Z| 1.22222 of OPT 1.22222 (100.00%))"
    )
    broken = next(v for v in faulty_verifiers.FAULTY if v.name == "block: stops at the first failure")
    found = audit_exact(broken, motivating(), 1)
    # It keeps 5/9 of OPT_1 = 11/9: a share of 5/11.
    assert f"NOT lossless, {len(found.faults)} fault" in one_line(found, longest=130)
    assert "E|Z| 0.555556 of OPT 1.22222 (45.45%)" in repr(found)


def test_an_exact_audit_of_nothing_to_accept_has_no_share() -> None:
    laws: dict[tuple[int, ...], list[int]] = {(): [1, 0]}
    disjoint = Instance.from_laws(2, 1, laws, {(): [0, 1]})
    assert one_line(audit_exact("bv", disjoint, 1)) == "ExactAudit('bv', K=1: lossless, E|Z| 0 of OPT 0)"


def test_an_exact_audit_as_a_table() -> None:
    found, instance = audit("bv", 1), motivating()
    head, *rows = cells(found._repr_html_())
    assert head == ["node z", "p(z)", "q(z)", "D(z)"]
    assert [row[0] for row in rows] == ["0", "1", "0,0", "0,1", "1,0", "1,1"]
    for node, row in enumerate(rows, start=1):
        values = (instance.joint_target[node], instance.joint_draft[node], found.budgets[node])
        assert row[1:] == [str(value) for value in values]
    broken = next(v for v in faulty_verifiers.FAULTY if v.name == "block: stops at the first failure")
    faulty = audit_exact(broken, motivating(), 1)
    assert "total variation" in faulty._repr_html_()
    assert "total variation" not in found._repr_html_()


def test_a_long_audit_is_cut() -> None:
    found = audit_exact("bv", random_instance("flat", 6, 2, seed=0), 1)  # 6 + 36 nodes below the root
    assert len(cells(found._repr_html_())) == 31
    assert "and 12 more rows" in found._repr_html_()


def test_names_are_escaped() -> None:
    nasty = faulty_verifiers.Verifier("<b>bv</b>", VERIFIERS["bv"].law, False, "a control")
    assert "<b>" not in audit_exact(nasty, motivating(), 1)._repr_html_()


def test_an_exact_audit_as_a_data_frame(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: columns))
    found, instance = audit("gbv", 2), motivating()
    columns = found.to_frame()
    assert columns["node"] == ["", "0", "1", "0,0", "0,1", "1,0", "1,1"]
    assert columns["target"] == instance.joint_target.tolist()
    assert columns["draft"] == instance.joint_draft.tolist()
    assert columns["budget"] == found.budgets.tolist()
    assert sum(columns["stop"]) == 1
    # What stops at a node is its budget less those of its children (statement 2.1).
    budget = columns["budget"]
    assert columns["stop"][:3] == [
        budget[0] - budget[1] - budget[2], budget[1] - budget[3] - budget[4], budget[2] - budget[5] - budget[6],
    ]  # fmt: skip
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"nodebudget\[frames\]"):
        found.to_frame()


def test_an_exact_audit_as_a_real_data_frame() -> None:
    pytest.importorskip("pandas", reason="the extra nodebudget[frames] is not installed")
    frame = audit("gbv", 2).to_frame()
    assert len(frame) == 7
    assert frame["stop"].sum() == 1


def test_a_sampler_audit_is_one_line() -> None:
    passed = audit_sampler(as_sampler("bv"), samples=250)
    assert one_line(passed) == "SamplerAudit('bv': passed, 2000 requests on 8 instances)"
    assert all(one_line(trial, longest=110).startswith("TrialFindings('") for trial in passed.trials)

    def nonsense(paths: Any, target: Any, draft: Any, generator: Any) -> list[int]:
        return []

    assert one_line(audit_sampler(nonsense, samples=250)).startswith(
        "SamplerAudit('nonsense': FAULTY (output"
    )


@pytest.mark.parametrize("kind", ["exact", "float64", "torch"])
def test_a_law(kind: str) -> None:
    """Block verification of the path (0, 0) on the motivating instance, in every kind of number."""
    tree = DraftTree.from_instance(motivating(), [[0, 0]])
    if kind != "exact":
        rows = (tree.target.astype(float), tree.draft.astype(float))
        make = torch.tensor if kind == "torch" else lambda values: values
        tree = DraftTree(tree.nodes, *(make(part) for part in rows))
    law = VERIFIERS["bv"].law(tree)
    expected = float(law.expected_accepted)
    assert one_line(law).startswith(
        f"AcceptanceLaw(E|Z| = {expected:.6g}, paths=1, depth=2, nodes=3, vocab=2, "
    )
    head, *rows_shown = cells(law._repr_html_())
    assert head == ["node z", "Pr[Z = z]"]
    assert [row[0] for row in rows_shown] == ["root", "0", "0,0"]
    shown = [float(Fraction(row[1])) for row in rows_shown]
    assert shown == pytest.approx([float(mass) for mass in law.stop], rel=1e-5)
    assert sum(length * mass for length, mass in enumerate(shown)) == pytest.approx(expected, rel=1e-5)


INSTANCE = random_instance("flat", 2, 2, seed=0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: audit_exact("block", INSTANCE, 2), "verifier: got 'block'; expected one of token"),
        (lambda: audit_exact(3, INSTANCE, 2), "verifier: got the int 3; expected a Verifier, its name"),
        (lambda: audit_exact("bv", "x", 2), "instance: got the str 'x'; expected an Instance"),
        (lambda: audit_exact("bv", INSTANCE, 2.5), "paths: got 2.5; expected an integer"),
        (lambda: audit_exact("bv", INSTANCE, 2, optimum=1), "optimum: got the int 1; expected an Optimum"),
        (lambda: audit_threshold_sampler(len, "x", 2, coins=1), "instance: got the str 'x'"),
        (lambda: audit_threshold_sampler(len, INSTANCE, 2, coins="x"), "coins: got 'x'; expected how many"),
        (lambda: as_sampler(None), "verifier: got None; expected a Verifier"),
        (lambda: draft_tree("x", (1,)), "instance: got the str 'x'"),
        (lambda: get_verifier(3), "verifier: got the int 3; expected a name such as 'gbv'"),
        (lambda: load_verifier(3), "verifier: got the int 3; expected a text 'module:function'"),
        (lambda: mixed_verifier("x"), "selection: got the str 'x'; expected a Selection"),
        (lambda: VERIFIERS["gbv"].budgets("x", 2), "instance: got the str 'x'"),
        (lambda: VERIFIERS["gbv"].budgets(INSTANCE, 0), "paths: got 0"),
        (lambda: AcceptanceLaw("x", None, None), "tree: got the str 'x'; expected the DraftTree"),
        (lambda: DraftTree([[0, 0]], None, None), r"nodes: got the list \[\[0, 0\]\]; expected a PathNodes"),
        (lambda: DraftTree.from_instance("x", [[0, 0]]), "instance: got the str 'x'"),
    ],
)  # fmt: skip
def test_arguments_of_another_kind(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        call()


def test_budgets_that_are_not_known_point_to_what_is() -> None:
    with pytest.raises(ValueError, match=r"traversal: .* is not known for it; .*expected_accepted"):
        VERIFIERS["traversal"].budgets(INSTANCE, 2)
    wide = random_instance("logits", 16, 1, seed=0)
    with pytest.raises(
        ValueError, match=r"specinfer: .* would be too large on this tree; .*expected_accepted"
    ):
        VERIFIERS["specinfer"].budgets(wide, 7)
    assert VERIFIERS["specinfer"].budgets(INSTANCE, 2)[0] == 1
    assert mixed_verifier(mixed_selection(2)).budgets(INSTANCE, 2)[0] == 1


@pytest.mark.parametrize(
    "paths", [{(0, 0), (0, 1)}, frozenset({(0, 0)}), {(0, 0): 1}, "00", 3, None, INSTANCE.tree, PathNodes([[0, 0]])]
)  # fmt: skip
def test_what_cannot_be_independent_draws_in_order(paths: Any) -> None:
    with pytest.raises(ValueError, match=r"paths: got .*; expected K x L token ids: K independent draws"):
        DraftTree.from_instance(INSTANCE, paths)


def test_paths_of_different_lengths_are_no_draws() -> None:
    with pytest.raises(ValueError, match="path 1 has 1 tokens and path 0 has 2"):
        DraftTree.from_instance(INSTANCE, [[0, 1], [0]])


def test_a_path_drafted_twice_is_another_draft() -> None:
    """Why a set of paths is refused: the law of SpecTr depends on how often a path was drafted."""
    once, twice = (DraftTree.from_instance(INSTANCE, paths) for paths in ([[1, 0]], [[1, 0], [1, 0]]))
    law = VERIFIERS["spectr"].law
    assert law(once).expected_accepted != law(twice).expected_accepted
