"""Sweeps: the rows against independent computation, and bytes that no interruption or backend changes."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
import pytest
from nodebudget.experiments.storage.results import read_document
from nodebudget.experiments.sweep import SweepConfig, run_sweep
from nodebudget.experiments.sweep.values import evaluate
from nodebudget.lp import random_instance, solve_multi_path
from nodebudget.verifiers import VERIFIERS, get_verifier
from nodebudget.verifiers.audit import audit_exact

COMMAND = Path(sys.executable).parent / "nodebudget"
SMALL = SweepConfig(
    families=("flat", "logits"),
    vocab=(2,),
    depth=(1, 2),
    paths=(1, 2),
    seeds=tuple(range(6)),
    verifiers=("bv", "gbv", "spectr", "traversal"),
    chunk=5,
)
TOML = """
families = ["flat", "logits"]
vocab = [2]
depth = [1, 2]
paths = [1, 2]
seeds = 6
verifiers = ["bv", "gbv", "spectr", "traversal"]
chunk = 5
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table of `SMALL`, computed without interruption by one process."""
    file = tmp_path_factory.mktemp("sweep") / "small.parquet"
    run_sweep(SMALL, file)
    return file


def test_exact_rows_are_what_audit_and_bound_say(tmp_path: Path) -> None:
    config = SweepConfig(("flat",), (2, 3), (2,), (1, 2), (0, 1), method="exact", verifiers=tuple(VERIFIERS))
    rows = run_sweep(config, tmp_path / "exact.parquet").table.to_pylist()
    assert len(rows) == 2 * 2 * 2 * len(VERIFIERS)
    for row in rows:
        instance = random_instance("flat", row["vocab"], row["depth"], row["seed"], zeros=row["zeros"])
        optimum = solve_multi_path(instance, row["paths"])
        audit = audit_exact(get_verifier(row["verifier"]), instance, row["paths"], optimum=optimum)
        assert row["certified"]
        assert Fraction(row["optimum_exact"]) == optimum.value
        assert Fraction(row["accepted_tokens_exact"]) == audit.accepted_tokens
        assert row["accepted_tokens"] == float(audit.accepted_tokens)
        assert row["share"] == pytest.approx(float(audit.accepted_tokens / optimum.value))
        assert (row["how"] == "one pass") == (VERIFIERS[row["verifier"]].one_pass is not None)


def test_every_row_once_in_a_fixed_order(finished: Path) -> None:
    table = pq.read_table(finished)
    names = ["family", "depth", "seed", "paths", "verifier"]
    keys = list(zip(*(table[name].to_pylist() for name in names), strict=True))
    wanted = [
        (key.family, key.depth, key.seed, paths, verifier)
        for key in SMALL.keys()  # noqa: SIM118
        for paths in SMALL.paths
        for verifier in SMALL.verifiers
    ]
    assert keys == wanted


def test_metadata_tell_the_configuration_and_the_code(finished: Path) -> None:
    document = read_document(finished)
    assert document["config"] == json.loads(json.dumps(SMALL.document()))
    assert document["versions"].keys() >= {"nodebudget", "highspy"}
    assert set(document) == {"kind", "format", "config", "commit", "source", "versions"}  # no time, no host


def test_a_finished_sweep_is_left_as_it_is(finished: Path) -> None:
    before = (finished.read_bytes(), finished.stat().st_mtime_ns)
    again = run_sweep(SMALL, finished, workers=2)
    assert (again.computed, again.kept) == (0, 24)
    assert (finished.read_bytes(), finished.stat().st_mtime_ns) == before


@pytest.mark.parametrize("where", ["local", "dask"])
def test_two_workers_write_the_same_bytes(finished: Path, tmp_path: Path, where: str) -> None:
    if where == "dask":
        pytest.importorskip("distributed", reason="the extra dask is not installed")
    file = tmp_path / "other.parquet"
    assert run_sweep(SMALL, file, workers=2, where=where).computed == 24
    assert file.read_bytes() == finished.read_bytes()


def test_the_comparison_of_bytes_can_fail(finished: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.parquet"
    run_sweep(SweepConfig(**{**SMALL.document(), "seeds": (0, 1, 2, 3, 4, 6)}), file)
    assert file.read_bytes() != finished.read_bytes()


def start(folder: Path, config: str = TOML) -> subprocess.Popen[bytes]:
    """The sweep as a process of its own group, until it has kept two more chunks."""
    (folder / "small.toml").write_text(config)
    parts = folder / "small.parquet.parts"
    before = len(list(parts.glob("0*.parquet")))
    done = subprocess.Popen(
        [COMMAND, "sweep", "small.toml"],
        cwd=folder,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in jobs in the background
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    deadline = time.monotonic() + 120
    while len(list(parts.glob("0*.parquet"))) < before + 2 and done.poll() is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return done


def test_killed_and_resumed(finished: Path, tmp_path: Path) -> None:
    """Killed outright, then interrupted from the keyboard, then finished: the same bytes, nothing left over."""
    first = start(tmp_path)
    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()
    kept = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "small.parquet.parts").glob("0*.parquet")}
    assert 2 <= len(kept) < 5
    last = run_sweep(SMALL, tmp_path / "small.parquet")
    assert last.kept == 5 * len(kept)
    assert last.computed == 24 - last.kept
    assert (tmp_path / "small.parquet").read_bytes() == finished.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["small.parquet", "small.toml"]


def test_interrupted_from_the_keyboard(tmp_path: Path) -> None:
    process = start(tmp_path, TOML.replace("seeds = 6", "seeds = 600"))
    os.killpg(process.pid, signal.SIGINT)
    _, said = process.communicate()
    assert process.returncode == 130
    assert said.decode().splitlines()[-1] == "nodebudget: interrupted; the same command goes on from here"


def test_other_configurations_and_other_code_are_refused(finished: Path, tmp_path: Path) -> None:
    other = SweepConfig(**{**SMALL.document(), "paths": (3,)})
    with pytest.raises(ValueError, match="holds another sweep"):
        run_sweep(other, finished)
    file = tmp_path / "begun.parquet"
    parts = tmp_path / "begun.parquet.parts"
    parts.mkdir()
    document = {**read_document(finished), "source": "0123"}
    (parts / "begun.json").write_text(json.dumps(document))
    with pytest.raises(ValueError, match=r"begun by other code \(source 0123"):
        run_sweep(SMALL, file)
    with pytest.raises(ValueError, match="holds the parts of another sweep"):
        run_sweep(other, file)
    pq.write_table(pq.read_table(finished).replace_schema_metadata({}), file)
    with pytest.raises(ValueError, match="not a result file"):
        run_sweep(SMALL, file)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workers", "0"], "--workers: got 0; expected an integer from 1 to 1024"),
        (["--backend", "slurm"], "--backend: got 'slurm'; expected one of local, dask, ray"),
        (["--scheduler", "tcp://127.0.0.1:1"], "--scheduler: there is none with the local backend"),
        (["--out", "table.csv"], "--out: got 'table.csv'; expected a file name ending in .parquet"),
    ],
)
def test_bad_options(tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "small.toml").write_text(TOML)
    done = subprocess.run(
        [COMMAND, "sweep", "small.toml", *arguments], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert said in done.stderr
    assert os.listdir(tmp_path) == ["small.toml"]


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="ray is installed here")
def test_ray_where_it_is_missing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"--backend ray: ray is not installed; expected pip install"):
        run_sweep(SMALL, tmp_path / "small.parquet", where="ray")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_ray_writes_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    file = tmp_path / "other.parquet"
    run_sweep(SMALL, file, workers=2, where="ray")
    assert file.read_bytes() == finished.read_bytes()


def test_json_and_text(finished: Path) -> None:
    (finished.parent / "small.toml").write_text(TOML)
    command = [COMMAND, "sweep", "small.toml"]
    done = subprocess.run(
        [*command, "--json"], cwd=finished.parent, capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert (found["rows"], found["computed"], found["not_optimal"]) == (24 * 2 * 4, 0, 0)
    assert {group["instances"] for group in found["groups"]} == {6}
    table = pq.read_table(finished).to_pylist()
    group = found["groups"][-1]
    rows = [row for row in table if all(row[key] == group[key] for key in group if key in SHARED)]
    assert len(rows) == 6
    wanted = sum(row["accepted_tokens"] for row in rows) / sum(row["optimum"] for row in rows)
    assert group["share"] == pytest.approx(wanted)
    text = subprocess.run(command, cwd=finished.parent, capture_output=True, text=True, check=True).stdout
    assert text.startswith("small.parquet: 192 rows (already finished)")


SHARED = ("family", "vocab", "depth", "similarity", "concentration", "zeros", "paths", "verifier")


def sampled(name: str, instance: Any, paths: int, seed: int = 0) -> Any:
    return evaluate(get_verifier(name), instance, paths, enumerate_up_to=0, samples=400, seed=[seed])


def test_estimates_agree_with_enumeration() -> None:
    """Ten estimates with their standard errors; the sum of squared deviations is about ten."""
    instance = random_instance("logits", 3, 2, seed=1, similarity=0.5)
    whole = evaluate(get_verifier("traversal"), instance, 2, enumerate_up_to=81, samples=2, seed=[0])
    assert (whole.how, whole.tuples, whole.standard_error) == ("enumerated", 81, None)
    deviations = []
    for seed in range(10):
        found = sampled("traversal", instance, 2, seed)
        assert (found.how, found.tuples) == ("sampled", 400)
        deviations.append((found.accepted - whole.accepted) / found.standard_error)
    total = sum(deviation**2 for deviation in deviations)
    assert 1.5 < total < 30  # chi-square with ten degrees of freedom: outside with probability 0.002
    assert sum((deviation + 5) ** 2 for deviation in deviations) > 30  # a bias of five errors would show


def test_a_user_s_verifier(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that accepts nothing; and one that fails is named, with what came from earlier chunks kept."""
    (tmp_path / "sweep_trial.py").write_text(
        "from nodebudget.verifiers import AcceptanceLaw\n\n\n"
        "def nothing(tree):\n"
        "    joint = tree.target * 0\n"
        "    joint[0] = tree.target[0]\n"
        "    return AcceptanceLaw.from_joint(tree, joint)\n\n\n"
        "def broken(tree):\n"
        "    return None\n"
    )
    monkeypatch.chdir(tmp_path)
    base = {"families": ("flat",), "vocab": (2,), "depth": (2,), "paths": (2,), "seeds": (0, 1)}
    good = SweepConfig(**base, verifiers=("sweep_trial:nothing", "bv"))
    rows = run_sweep(good, tmp_path / "good.parquet").table.to_pylist()
    assert [row["accepted_tokens"] for row in rows[::2]] == [0.0, 0.0]
    assert all(row["accepted_tokens"] > 0 for row in rows[1::2])
    with pytest.raises(ValueError, match="sweep_trial:broken failed on the drafted paths"):
        run_sweep(SweepConfig(**base, verifiers=("sweep_trial:broken",)), tmp_path / "bad.parquet")


def test_a_result_is_one_line_and_a_data_frame(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = SweepConfig(
        families=("flat",), vocab=(2,), depth=(1,), paths=(1, 2), seeds=(0, 1), verifiers=("bv",)
    )
    done = run_sweep(config, tmp_path / "small.parquet")
    assert repr(done) == "SweepResult('small.parquet', 4 rows, 2 instances computed, 0 kept)"
    monkeypatch.setitem(sys.modules, "pandas", SimpleNamespace(DataFrame=lambda columns: columns))
    columns = done.to_frame()
    assert list(columns) == done.table.column_names
    assert columns["paths"] == [1, 2, 1, 2]
