"""Certificates: they verify, survive a file, and fail as soon as any number in them is changed."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nodebudget.lp import (
    Certificate,
    Instance,
    PrefixTree,
    TightAntichain,
    accepted_tokens,
    block_budgets,
    dual_bound,
    many_paths_limit,
    random_instance,
    solve_multi_path,
    solve_single_path,
)
from nodebudget.lp.drafting import WithReplacement
from nodebudget.lp.numbers.rationals import exact_array
from plain_definitions import antichains
from strategies import exact_instances, few, motivating, some

F = Fraction
Place = tuple[Any, ...]


def certificate(instance: Instance, paths: int) -> Certificate:
    found = solve_multi_path(instance, paths).certificate
    assert found is not None
    return found


CERTIFICATES = {
    "motivating, one path": certificate(motivating(), 1),
    "motivating, two paths": certificate(motivating(), 2),
    "motivating, three paths": certificate(motivating(), 3),
    "three tokens": certificate(random_instance("flat", 3, 2, seed=4), 2),
    "with zeros": certificate(random_instance("flat", 3, 2, seed=1, zeros=0.3), 2),
    "one token deep": certificate(random_instance("flat", 4, 1, seed=2), 3),
}
every_certificate = pytest.mark.parametrize("name", CERTIFICATES)


def accepted(document: Any) -> bool:
    """True when a document is read and verifies; a ValueError is a refusal."""
    try:
        return bool(Certificate.from_json(document).verify())
    except ValueError:
        return False


def leaves_of(document: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Every scalar in a JSON document with its place."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from leaves_of(value, (*place, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from leaves_of(value, (*place, index))
    else:
        yield place, document


def with_change(document: Any, place: Place, value: Any) -> Any:
    out = copy.deepcopy(document)
    inside = out
    for step in place[:-1]:
        inside = inside[step]
    inside[place[-1]] = value
    return out


def changed_numbers(value: Any) -> list[Any]:
    """A number, near and far from itself, in the same notation."""
    if isinstance(value, int):
        return [value + 1, value - 1, -value, 10 * value]
    number = F(value)
    near, far = F(1, 10**40), F(1, 3)
    candidates = {number + near, number - near, number + far, number - far, -number, 2 * number, F(0), F(1)}
    return [str(v) for v in sorted(candidates - {number})]


@every_certificate
def test_a_certificate_verifies(name: str) -> None:
    proof = CERTIFICATES[name]
    verdict = proof.verify()
    assert verdict
    assert verdict.failures == ()
    assert accepted_tokens(proof.budgets) == proof.optimum
    assert dual_bound(proof.instance, proof.paths, proof.antichains) == proof.optimum


@every_certificate
def test_a_certificate_survives_a_file(name: str, tmp_path: Path) -> None:
    proof = CERTIFICATES[name]
    proof.save(tmp_path / "proof.json")
    read = Certificate.load(tmp_path / "proof.json")
    assert read.verify()
    assert read.to_json() == proof.to_json()
    assert read.optimum == proof.optimum
    assert read.budgets.tolist() == proof.budgets.tolist()
    assert read.antichains == proof.antichains
    assert read.prices.tolist() == proof.prices.tolist()
    assert [p.name for p in tmp_path.iterdir()] == ["proof.json"]


@every_certificate
def test_every_number_matters(name: str) -> None:
    document = CERTIFICATES[name].to_json()
    assert accepted(document)
    tried = set()
    for place, value in leaves_of(document):
        if place[0] == "format" or (place[0] == "antichains" and place[2] == "nodes"):
            continue
        for other in changed_numbers(value):
            assert not accepted(with_change(document, place, other)), f"{place}: {value} became {other}"
        tried.add(place[0] if place[0] != "instance" else place[:2])
    assert tried >= {"paths", "optimum", "budgets", "prices", ("instance", "target"), ("instance", "draft"),
                     ("instance", "vocab"), ("instance", "depth")}  # fmt: skip


@every_certificate
def test_every_antichain_node_matters(name: str) -> None:
    document = CERTIFICATES[name].to_json()
    nodes = list(document["budgets"])
    for k, antichain in enumerate(document["antichains"]):
        for i, node in enumerate(antichain["nodes"]):
            for other in [*nodes, "7", "x", "0,", 0, None]:
                if other != node:
                    tampered = with_change(document, ("antichains", k, "nodes", i), other)
                    assert not accepted(tampered), f"antichain {k}: {node} became {other}"


@every_certificate
def test_no_budget_price_or_antichain_can_be_left_out_or_doubled(name: str) -> None:
    document = CERTIFICATES[name].to_json()
    for table in ("budgets", "prices"):
        for node in document[table]:
            shorter = copy.deepcopy(document)
            del shorter[table][node]
            assert not accepted(shorter)
            renamed = copy.deepcopy(shorter)
            renamed[table]["9"] = document[table][node]
            assert not accepted(renamed)
    for k in range(len(document["antichains"])):
        fewer = copy.deepcopy(document)
        del fewer["antichains"][k]
        assert not accepted(fewer)
        doubled = copy.deepcopy(document)
        doubled["antichains"].append(doubled["antichains"][k])
        assert not accepted(doubled)


def test_the_walk_covers_multipliers() -> None:
    """The proofs that are tampered with do have antichains, one of several nodes among them."""
    sizes = [len(tight.nodes) for proof in CERTIFICATES.values() for tight in proof.antichains]
    assert len(sizes) > len(CERTIFICATES)
    assert max(sizes) > 1


@some
@given(exact_instances(), st.integers(1, 3), st.data())
def test_any_changed_number_of_any_certificate_is_noticed(
    instance: Instance, paths: int, data: st.DataObject
) -> None:
    """Numbers of the proof itself and single entries of the laws; a law with one entry changed is no law."""
    document = certificate(instance, paths).to_json()
    assert accepted(document)
    places = [
        (place, value)
        for place, value in leaves_of(document)
        if place[0] not in ("format", "paths")
        and not (place[0] == "antichains" and place[2] == "nodes")
        and place[:2] not in (("instance", "sparse"),)
    ]
    place, value = data.draw(st.sampled_from(places))
    other = data.draw(st.sampled_from(changed_numbers(value)))
    assert not accepted(with_change(document, place, other)), f"{place}: {value} became {other}"


@some
@given(exact_instances(shapes=((2, 2), (3, 1), (3, 2))), st.integers(1, 3), st.data())
def test_a_proof_moved_to_another_instance_or_number_of_paths_is_sound(
    instance: Instance, paths: int, data: st.DataObject
) -> None:
    """Changes that leave laws laws: when the proof still verifies, the optimum is the same there, too."""
    document = certificate(instance, paths).to_json()
    if data.draw(st.booleans()):
        model = data.draw(st.sampled_from(["target", "draft"]))
        context = data.draw(st.sampled_from(sorted(document["instance"][model])))
        law = [F(v) for v in document["instance"][model][context]]
        giver, taker = data.draw(st.permutations(range(len(law))))[:2]
        moved = law[giver] * data.draw(st.sampled_from([F(1), F(1, 2), F(1, 10**20)]))
        law[giver] -= moved
        law[taker] += moved
        document["instance"][model][context] = [str(v) for v in law]
    else:
        document["paths"] = data.draw(st.integers(1, 5))
    if accepted(document):
        moved_to = Certificate.from_json(document)
        assert solve_multi_path(moved_to.instance, moved_to.paths).value == moved_to.optimum


def test_moving_mass_where_it_matters_is_noticed() -> None:
    """The negative control of the test above: p("0") down from 1/3, so less can be accepted."""
    document = CERTIFICATES["motivating, two paths"].to_json()
    document["instance"]["target"][""] = ["1/4", "3/4"]
    assert not accepted(document)
    document = CERTIFICATES["motivating, two paths"].to_json()
    document["instance"]["draft"][""] = ["3/4", "1/4"]
    assert not accepted(document)


def test_the_law_of_the_bonus_token_never_matters() -> None:
    document = CERTIFICATES["motivating, two paths"].to_json()
    document["instance"]["target"].pop("0,0", None)
    assert accepted(document)
    document["instance"]["target"]["0,0"] = ["1", "0"]
    assert accepted(document)


def test_failures_are_told_in_words() -> None:
    proof = CERTIFICATES["motivating, two paths"]
    more = proof.budgets.copy()
    more[1] += F(1, 10**30)
    (first, *_) = replace(proof, budgets=more).verify().failures
    assert first.startswith("target-matching constraint at '0'")
    crowded = exact_array(
        [1, F(1, 3), F(2, 3), F(1, 9), F(2, 9), F(2, 9), F(4, 9)]
    )  # D = p breaks antichains
    failures = replace(proof, budgets=crowded, optimum=F(2)).verify().failures
    assert any("antichain constraint at '1'" in failure for failure in failures)
    (failure,) = replace(proof, optimum=F(2)).verify().failures
    assert failure == "the budgets sum to 131/81; the certificate claims 2"
    (failure,) = replace(proof, antichains=(TightAntichain((1, 3), F(1)),)).verify().failures
    assert "not an antichain" in failure
    (failure,) = replace(proof, antichains=(TightAntichain((2,), F(-1)),)).verify().failures
    assert failure == "a multiplier is -1; it must be positive"
    idle = TightAntichain((3,), F(0))
    (failure,) = replace(proof, antichains=(*proof.antichains, idle)).verify().failures
    assert failure == "a multiplier is 0; it must be positive"
    (failure,) = replace(proof, prices=proof.prices * 2).verify().failures
    assert "prices" in failure
    (failure,) = replace(proof, drafting=WithReplacement(2)).verify().failures
    assert "drafting with:2: it has counts for 1 lengths" in failure
    (failure,) = replace(proof, budgets=proof.budgets[:-1]).verify().failures
    assert "one number per node" in failure


@pytest.mark.parametrize("nodes", [(), (0,), (1, 1), (1, 3), (99,), (-1,)])
def test_only_antichains_without_the_root_carry_multipliers(nodes: tuple[int, ...]) -> None:
    proof = CERTIFICATES["motivating, two paths"]
    (failure,) = replace(proof, antichains=(*proof.antichains, TightAntichain(nodes, F(1)))).verify().failures
    assert failure == f"the nodes {nodes} are not an antichain without the root"


def test_feasible_but_not_optimal_budgets_prove_nothing() -> None:
    instance = motivating()
    proof = CERTIFICATES["motivating, two paths"]
    built = Certificate.build(instance, 2, block_budgets(instance), proof.antichains)
    assert built.optimum == F(11, 9)
    (failure,) = built.verify().failures
    assert failure == "the multipliers prove the bound 131/81; the certificate claims 11/9"


def test_floats_are_no_proof() -> None:
    proof = CERTIFICATES["motivating, two paths"]
    with pytest.raises(ValueError, match="needs an exact instance"):
        Certificate.build(proof.instance.to_float(), 2, proof.budgets, proof.antichains)
    assert not replace(proof, instance=proof.instance.to_float()).verify()
    assert not replace(proof, budgets=proof.budgets.astype(float)).verify()
    assert not replace(proof, prices=proof.prices.astype(float)).verify()


def test_a_float_instance_in_a_file_is_no_proof() -> None:
    document = CERTIFICATES["motivating, two paths"].to_json()
    laws = document["instance"]["target"]
    laws[""] = [0.3333333333333333, 0.6666666666666666]
    assert not accepted(document)


def changed(change: Callable[[dict[str, Any]], object]) -> Any:
    out = CERTIFICATES["motivating, two paths"].to_json()
    change(out)
    return out


MALFORMED = {
    "a list": [],
    "nothing": None,
    "no members": {},
    "one member too many": changed(lambda d: d.update(more=1)),
    "no budgets": changed(lambda d: d.pop("budgets")),
    "another format": changed(lambda d: d.update(format="nodebudget certificate 0")),
    "no instance": changed(lambda d: d.update(instance=None)),
    "paths in words": changed(lambda d: d.update(paths="2")),
    "paths as a float": changed(lambda d: d.update(paths=2.0)),
    "paths zero": changed(lambda d: d.update(paths=0)),
    "optimum in words": changed(lambda d: d.update(optimum="much")),
    "optimum missing": changed(lambda d: d.update(optimum=None)),
    "budgets as a list": changed(lambda d: d.update(budgets=list(d["budgets"].values()))),
    "a budget missing": changed(lambda d: d["budgets"].update({"0": None})),
    "a budget of no node": changed(lambda d: d.update(budgets={**d["budgets"], "5": d["budgets"].pop("0")})),
    "antichains as a number": changed(lambda d: d.update(antichains=5)),
    "antichains missing": changed(lambda d: d.update(antichains=None)),
    "antichains as an object": changed(lambda d: d.update(antichains={"nodes": ["1"], "multiplier": "1"})),
    "an antichain as a list": changed(lambda d: d.update(antichains=[["1"]])),
    "an antichain without multiplier": changed(lambda d: d["antichains"][0].pop("multiplier")),
    "antichain nodes as a number": changed(lambda d: d["antichains"][0].update(nodes=5)),
    "antichain nodes as text": changed(lambda d: d["antichains"][0].update(nodes="1")),
    "a node as a number": changed(lambda d: d["antichains"][0].update(nodes=[1])),
}


@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_certificate_is_a_value_error(what: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"\w") as raised:
        Certificate.from_json(MALFORMED[what])
    assert "\n" not in str(raised.value)
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(MALFORMED[what]))
    with pytest.raises(ValueError, match=r"\w") as raised:
        Certificate.load(path)
    assert str(raised.value).startswith(f"{path}: ")


def test_a_certificate_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    for path, content in ((tmp_path / "empty.json", ""), (tmp_path / "text.json", "proof")):
        path.write_text(content)
        with pytest.raises(ValueError, match=path.name):
            Certificate.load(path)
    with pytest.raises(ValueError, match=r"missing\.json: cannot be read"):
        Certificate.load(tmp_path / "missing.json")


@st.composite
def multipliers(draw: st.DrawFn) -> tuple[Instance, int, list[TightAntichain]]:
    instance = draw(exact_instances())
    listed = antichains(instance.vocab, instance.depth)
    drawn = draw(st.lists(st.sampled_from(listed), max_size=4))
    weights = [F(draw(st.integers(0, 12)), 6) for _ in drawn]
    tree = instance.tree
    tight = [
        TightAntichain(tuple(tree.find(z) for z in chosen), weight)
        for chosen, weight in zip(drawn, weights, strict=True)
    ]
    return instance, draw(st.integers(1, 3)), tight


@some
@given(multipliers())
def test_any_nonnegative_multipliers_give_an_upper_bound(
    question: tuple[Instance, int, list[TightAntichain]],
) -> None:
    instance, paths, tight = question
    assert dual_bound(instance, paths, tight) >= solve_multi_path(instance, paths).value


@few
@given(exact_instances())
def test_without_multipliers_the_bound_is_what_the_target_alone_allows(instance: Instance) -> None:
    assert dual_bound(instance, 2, []) == many_paths_limit(instance)


def test_weak_duality_needs_nonnegative_multipliers() -> None:
    with pytest.raises(ValueError, match="nonnegative"):
        dual_bound(motivating(), 2, [TightAntichain((1,), F(-1, 10**9))])


def test_single_path_proofs_verify_as_proofs_about_one_path() -> None:
    for instance in (motivating(), random_instance("flat", 3, 2, seed=1, zeros=0.3)):
        proof = solve_single_path(instance).certificate
        assert proof.paths == 1
        assert proof.verify()
        assert all(len(tight.nodes) == 1 for tight in proof.antichains)
        assert np.array_equal(proof.budgets, block_budgets(instance))


def test_proofs_about_sparse_instances_survive_a_file(tmp_path: Path) -> None:
    instance = random_instance("flat", 3, 2, seed=1, zeros=0.4).prune()
    proof = certificate(instance, 2)
    proof.save(tmp_path / "sparse.json")
    read = Certificate.load(tmp_path / "sparse.json")
    assert read.verify()
    assert read.to_json()["instance"]["sparse"] is True
    assert read.optimum == solve_multi_path(instance, 2).value


def test_a_tree_that_lacks_a_live_node_proves_nothing() -> None:
    """Both tokens have mass 1/2 in both laws, so OPT_2 = 1; a tree without the token 1 would "prove" 1/2."""
    half = F(1, 2)
    tree = PrefixTree.grow(2, 1, lambda _: [0])
    laws = exact_array([1, half]), exact_array([1, half])
    try:
        cut = Instance(tree, *laws, None, {0: {1: (half, half)}})
        proof = Certificate.build(cut, 2, laws[0], [])
    except ValueError:
        return
    assert proof.optimum == half
    assert not proof.verify()


def test_numbers_of_thousands_of_digits_are_refused_in_one_short_line() -> None:
    # More digits than Python writes of an integer.
    huge = Fraction(10**5000 + 1, 10**5000)
    certificate = solve_multi_path(random_instance("flat", 2, 2, seed=1), 2).certificate
    assert certificate is not None
    budgets = certificate.budgets * huge
    budgets[0] = Fraction(1)
    verdict = replace(certificate, budgets=budgets).verify()
    assert not verdict
    assert verdict.failures
    assert max(map(len, verdict.failures)) < 300
