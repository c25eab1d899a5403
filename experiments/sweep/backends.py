"""Where the chunks of a sweep are computed: joblib's own processes, a Dask cluster, or a Ray cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from nodebudget.lp.numbers.rationals import shortened

BACKENDS = ("local", "dask", "ray")


@contextlib.contextmanager
def backend(name: str, workers: int, scheduler: str | None) -> Iterator[None]:
    """Make joblib use a backend inside a `with` block.

    Args:
        name: one of `BACKENDS`.
        workers: processes, where they are started here.
        scheduler: for dask, the address of a running scheduler; without one a local cluster is started for the
            time of the block. For ray, the address of a running cluster.

    Raises ValueError for an unknown name, and where the packages of the backend are not installed.
    """
    if name not in BACKENDS:
        raise ValueError(f"--backend: got {shortened(name)}; expected one of {', '.join(BACKENDS)}")
    if scheduler is not None and name == "local":
        raise ValueError("--scheduler: there is none with the local backend; expected --backend dask or ray")
    with {"local": _local, "dask": _dask, "ray": _ray}[name](workers, scheduler):
        yield


def in_order_of_completion(function: Callable[..., Any], tasks: list[Any], workers: int) -> Iterator[Any]:
    """function(task) for every task on the backend that is set, each as soon as it is there."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend

    active, _ = get_active_backend()
    jobs = [delayed(function)(task) for task in tasks]
    if active.supports_return_generator:
        yield from Parallel(n_jobs=workers, batch_size=1, return_as="generator_unordered")(jobs)
        return
    for start in range(
        0, len(jobs), workers
    ):  # a backend that answers only when all is done gets little at once
        yield from Parallel(n_jobs=workers, batch_size=1)(jobs[start : start + workers])


@contextlib.contextmanager
def _local(workers: int, scheduler: str | None) -> Iterator[None]:
    from joblib import parallel_config

    with parallel_config(backend="loky", inner_max_num_threads=1):
        yield


@contextlib.contextmanager
def _dask(workers: int, scheduler: str | None) -> Iterator[None]:
    from joblib import parallel_config

    try:
        from distributed import Client, LocalCluster
    except ModuleNotFoundError as error:
        raise ValueError(
            f"--backend dask: {error.name} is not installed; expected pip install 'nodebudget[dask]'"
        ) from None
    with contextlib.ExitStack() as stack:
        address: Any = scheduler
        if scheduler is None:
            address = stack.enter_context(
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
            )
        try:
            stack.enter_context(Client(address, set_as_default=True))
        except (OSError, ValueError) as error:
            raise ValueError(f"--scheduler: {scheduler!r} cannot be reached ({error})") from None
        stack.enter_context(parallel_config(backend="dask"))
        yield


@contextlib.contextmanager
def _ray(workers: int, scheduler: str | None) -> Iterator[None]:
    from joblib import parallel_config

    try:
        import ray
        from ray.util.joblib import register_ray
    except ModuleNotFoundError as error:
        raise ValueError(
            f"--backend ray: {error.name} is not installed; expected pip install 'nodebudget[ray]'"
        ) from None
    ray.init(address=scheduler, num_cpus=None if scheduler else workers, log_to_driver=False)
    try:
        register_ray()
        with parallel_config(backend="ray"):
            yield
    finally:
        ray.shutdown()
