"""DeVAE: the paper's settings, what it reduces to, and its levels in a trained run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from hatchel.core.errors import HatchelError
from hatchel.data.xy_squares import XYSquares
from hatchel.evaluation.codes import ITEMS, encodings
from hatchel.evaluation.evaluation import StoredScores, evaluate
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.methods.resolve import resolve
from hatchel.objective.terms.moments import PosteriorVariance
from hatchel.objective.trace import Batch
from hatchel.objective.weights import PerLevel
from hatchel.training.run import TrainedRun, train

DATA = XYSquares()


def test_settings_and_ablations() -> None:
    spec = resolve("de_vae", DATA)
    assert spec.latent == ScaledHierarchy(Diagonal(10), 3)
    assert spec.objective["kl"].weight == PerLevel((1, 10, 40))
    assert (spec.optimizer.lr, spec.batch_size) == (1e-4, 256)
    redundant = resolve("de_vae", DATA, {"betas": [1, 10, 20, 40, 80], "dim": 4, "spaces": "linear", "scale": 2})
    assert redundant.latent == ScaledHierarchy(Diagonal(4), 5, 2.0, "linear")
    assert spec.formula() == "-log p(x|z) + beta_i*KL(q(z|x)||p(z)), beta: 1, 10, 40 by level"


def test_a_step_works_on_one_level_with_its_beta() -> None:
    data = DATA.load()
    system = resolve("de_vae", DATA).fit_to(data).build(data.shape)
    x = data.reader()(torch.arange(8))
    seen = set()
    for step in range(12):
        with torch.no_grad():
            loss, trace = system(Batch(x, len(data), step)), system.model(Batch(x, len(data), step))
        beta = (1, 10, 40)[trace.level]
        assert float(loss.objective) == pytest.approx(float(loss.terms["rec"] + beta * loss.terms["kl"]), rel=1e-6)
        assert trace.level == system.model.latent.draw_level(0, step)
        seen.add(trace.level)
    assert seen == {0, 1, 2}


def test_the_paper_s_five_betas_train(tmp_path: Path) -> None:
    fields = {"betas": [1, 10, 20, 40, 80], "steps": 6, "batch_size": 8, "likelihood": "squared_error"}
    run = train(resolve("de_vae", DATA, fields), out=tmp_path, progress=False)
    assert (run.levels, run.spec.objective["kl"].weight) == (5, PerLevel((1, 10, 20, 40, 80)))
    assert {run.model.latent.draw_level(0, step) for step in range(40)} == {0, 1, 2, 3, 4}
    assert np.isfinite(run.reconstruct(run.data.images(np.arange(4)), level=4)).all()


def test_summed_levels_are_all_in_one_step() -> None:
    """The sum over levels of rec + beta_i KL, each with noise of its own; reported are the terms' means."""
    data = DATA.load()
    system = resolve("de_vae", DATA, {"levels": "summed"}).fit_to(data).build(data.shape)
    batch = Batch(data.reader()(torch.arange(8)), len(data), 3)
    with torch.no_grad():
        loss, traces = system(batch), system.model.traces(batch)
        kls = [float(trace.p.kl(trace.q, trace.z).sum(1).mean()) for trace in traces]
    assert [trace.level for trace in traces] == [0, 1, 2]
    recs = [-float(trace.log_px.mean()) for trace in traces]
    expected = sum(recs) + sum(beta * kl for beta, kl in zip((1, 10, 40), kls, strict=True))
    assert float(loss.objective) == pytest.approx(expected, rel=1e-5)
    assert float(loss.terms["kl"]) == pytest.approx(np.mean(kls), rel=1e-5)
    assert not torch.equal(traces[0].z, traces[1].z)  # at the start the spaces are the same, the noise is not
    torch.testing.assert_close(traces[0].q.mean, traces[2].q.mean)
    with pytest.raises(HatchelError, match="scale: draws levels"):
        resolve("de_vae", DATA, {"levels": "summed", "scale": 2})


def test_a_single_space_and_s_0_are_the_plain_vae_up_to_the_embedding() -> None:
    """With the embedding at 0 and the decoder blind to it, step by step the same loss."""
    data = DATA.load()
    x = data.reader()(torch.arange(8))
    for fields in ({"betas": (1,)}, {"scale": 0}):
        system = resolve("de_vae", DATA, fields).fit_to(data).build(data.shape)
        plain = resolve("vae", DATA).fit_to(data).build(data.shape)
        plain.model.encoder.load_state_dict(system.model.encoder.state_dict())
        state = system.model.decoder.state_dict()
        first = next(k for k, v in state.items() if v.ndim == 2)
        system.model.latent.embeddings.weight.data.zero_()
        plain.model.decoder.load_state_dict({**state, first: state[first][:, :10]})
        with torch.no_grad():
            a, b = (float(s(Batch(x, len(data), 5)).objective) for s in (system, plain))
        assert a == pytest.approx(b, rel=1e-6)


def test_a_term_on_the_first_level_alone() -> None:
    """RTC-VAE's penalty on DeVAE's first space: the other levels do not feel it."""
    data = DATA.load()
    spec = resolve("de_vae", DATA)
    spec = spec.with_fields(objective={**spec.objective, "var": PerLevel((10, 0, 0)) * PosteriorVariance()})
    system, plain = (s.fit_to(data).build(data.shape) for s in (spec, resolve("de_vae", DATA)))
    x = data.reader()(torch.arange(8))
    for step in range(8):
        with torch.no_grad():
            a, b = (s(Batch(x, len(data), step)) for s in (system, plain))
        extra = 10 * float(a.terms["var"]) if plain.model.latent.draw_level(0, step) == 0 else 0.0
        assert float(a.objective) == pytest.approx(float(b.objective) + extra, rel=1e-5)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> TrainedRun:
    """Some steps at a large rate, so that the scales leave 0."""
    spec = resolve("de_vae", DATA, {"dim": 4, "betas": (1, 5, 10)})
    spec = spec.with_fields(steps=60, batch_size=32)
    spec = spec.with_fields(optimizer=spec.optimizer.with_fields(lr=3e-3))
    return train(spec, out=tmp_path_factory.mktemp("run"), progress=False)


def test_any_level_can_be_asked_for(run: TrainedRun) -> None:
    images = run.data.images(np.arange(40))
    codes = [run.encode(images, level=level) for level in range(3)]
    scales = run.model.latent.log_scales.detach().numpy()
    assert np.abs(scales).max() > 1e-3
    for level in (1, 2):
        np.testing.assert_allclose(codes[level], np.exp(scales[:level].sum(0)) * codes[0], rtol=1e-4, atol=1e-6)
        np.testing.assert_allclose(run.posterior(images, level)[0], codes[level], rtol=1e-6)
    pictures = [run.decode(codes[0], level) for level in range(3)]
    assert not np.array_equal(pictures[0], pictures[1])  # the decoder reads the level's embedding
    np.testing.assert_array_equal(run.reconstruct(images, 2), run.decode(codes[2], 2))
    with pytest.raises(HatchelError, match="level: this run's latent has level 0 to 2, not 3"):
        run.encode(images, level=3)
    again = TrainedRun.load(Path(run.folder))
    np.testing.assert_array_equal(again.encode(images, level=2), codes[2])


def test_every_level_has_its_samples(run: TrainedRun) -> None:
    """Which see the scale that binned means do not."""
    found = encodings(run, store=False)
    kept = StoredScores(run, store=False)
    for level in (1, 2):
        probe = kept.probe(f"level {level} sample")
        np.testing.assert_array_equal(probe.codes, found.levels[level].sample)
        mean, std = run.posterior(run.data.images(found.items), level)
        assert np.abs((probe.codes - mean) / std).mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.1)
    assert ITEMS >= 10_000


def test_every_level_is_evaluated_and_mig_is_the_same_at_all(run: TrainedRun) -> None:
    found = evaluate(run, ["mig", "elbo_terms", "reconstruction"], store=False)
    assert list(found) == ["mean", "sample", "level 1", "level 2"]
    scores = [float(found[name]["mig"]) for name in ("mean", "level 1", "level 2")]
    assert scores == pytest.approx([scores[0]] * 3, abs=0.02)
    assert all("reconstruction" in found[name] for name in ("mean", "level 1", "level 2"))
    # The KL at each level is that of its own posterior.
    for level, name in ((0, "mean"), (2, "level 2")):
        mean, std = run.posterior(run.data.images(np.arange(64)), level)
        kl = 0.5 * (mean**2 + std**2 - 1 - 2 * np.log(std)).sum(1).mean()
        assert float(found[name]["elbo_terms"]) == pytest.approx(float(kl), rel=0.15)
