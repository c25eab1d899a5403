"""The study of transport and its lift: its shares from exact audits, and what it refuses."""

from __future__ import annotations

import pytest
from nodebudget.experiments.studies.transport_study import VERIFIERS, main, shares
from nodebudget.lp import random_instance
from nodebudget.verifiers.audit import audit_exact


def test_shares_are_those_of_exact_audits() -> None:
    seeds = (1, 2)
    found = shares("flat", {}, 2, 2, 2, seeds)
    assert set(found) == set(VERIFIERS)
    for name in VERIFIERS:
        gaps, gained = [], []
        for seed in seeds:
            instance = random_instance("flat", 2, 2, seed=seed)
            block, audited = audit_exact("bv", instance, 1), audit_exact(name, instance, 2)
            gaps.append(audited.optimum - block.accepted_tokens)
            gained.append(audited.accepted_tokens - block.accepted_tokens)
        assert abs(found[name].all - float(sum(gained) / sum(gaps))) < 1e-6
        assert (
            abs(found[name].least - min(float(g / gap) for g, gap in zip(gained, gaps, strict=True))) < 1e-6
        )
    assert found["lift:transport"].all >= found["transport"].all


def test_the_table_and_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--vocab", "2", "--length", "1", "--seeds", "1"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["family", *VERIFIERS]
    assert [line.split()[0] for line in lines[1:]] == ["flat", "logits", "logits", "logits", "logits"]
    with pytest.raises(SystemExit) as stopped:
        main(["--seeds", "0"])
    assert stopped.value.code == 2
    assert "seeds: got []" in capsys.readouterr().err
    with pytest.raises(ValueError, match="expected one at which BV is below the optimum"):
        shares("identical", {}, 2, 1, 1, [1])
