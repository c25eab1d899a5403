"""`nodebudget audit-sampler`: judge a sampler that is only seen from outside, on the default instances."""

from __future__ import annotations

from nodebudget.lp.drafting.iid_paths import check_paths
from nodebudget.verifiers import get_verifier
from nodebudget.verifiers.audit import SamplerAudit, TrialInstance, as_sampler, default_instances
from nodebudget.verifiers.audit import audit_sampler as audit
from nodebudget.verifiers.registry import load_function


def run_audit_sampler(
    name: str,
    *,
    batch: int | None,
    paths: int | None,
    torch: bool,
    samples: int,
    false_alarm: float,
    seed: int,
) -> SamplerAudit:
    """Audit a user's sampler (module:function) or a verifier of the registry; ValueError for anything unusable."""
    if ":" not in name and batch is not None:
        raise ValueError(f"--batch: {name} takes one request a call; leave the option out")
    if paths is not None:
        check_paths(paths)
    trials = [TrialInstance(t.name, t.instance, paths or t.paths) for t in default_instances()]
    sampler = load_function("sampler", name) if ":" in name else as_sampler(get_verifier(name))
    return audit(
        sampler,
        trials,
        samples=samples,
        false_alarm=false_alarm,
        seed=seed,
        batch=batch,
        library="torch" if torch else "numpy",
        name=name,
    )
