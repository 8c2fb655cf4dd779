"""The resolver: parameters of a method, fields of the run, places in errors, schedules of a short training."""

from __future__ import annotations

import pytest

from hatchel.core.errors import HatchelError
from hatchel.core.spec import Count, NonNegative, in_steps, per_step, updated
from hatchel.data.xy_squares import XYSquares
from hatchel.latents.diagonal import Diagonal
from hatchel.methods.control_vae import ControlVAE
from hatchel.methods.method import Method, Terms
from hatchel.methods.resolve import Change, default_of, holds_list, resolve
from hatchel.nets.mlp import Mlp
from hatchel.objective.terms.elbo import KL, Reconstruction
from hatchel.objective.weights import PI, IncrementalPI, Ramp

DATA = XYSquares()


@pytest.fixture
def ramped():
    class Ramped(Method):
        """A plug-in: rec + w(t) KL, with a schedule and a gain of its own, and one inside a weight."""

        paper = "none"
        verified = "nothing"

        ramp: Ramp
        """Has no default."""
        warmup: Count = in_steps(default=30_000)
        """Steps."""
        gain: NonNegative = per_step(default=0.5)
        """Per step."""

        def terms(self) -> Terms:
            return {
                "rec": Reconstruction(),
                "kl": self.ramp * KL(),
                "more": Ramp(0.0, self.gain, self.warmup) * KL(),
            }

    yield Ramped
    Method._members.pop("ramped")


def test_parameters_and_dotted_fields_of_the_run() -> None:
    made = resolve("factor_vae", DATA, {"gamma": 7, "steps": 9, "latent.dim": 3, "by.hidden": 16})
    assert made == updated(
        resolve("factor_vae", DATA, {"gamma": 7}), {"steps": 9, "latent.dim": 3, "objective.tc.term.by.hidden": 16}
    )
    assert made.name == "factor_vae"
    assert resolve("vae", "xy_squares", {"data.size": 32}).data == XYSquares(size=32)
    assert resolve("vae", changes={"data": "xy_squares", "latent": Diagonal(4), "latent.dim": 5}) == resolve(
        "vae", DATA, {"latent.dim": 5}
    )


def test_the_last_change_of_a_name_wins() -> None:
    changes = [Change("beta", 2), Change("steps", 1), Change("beta", 5), Change("steps", 8)]
    made = resolve("beta_vae", DATA, changes)
    assert (made.objective["kl"].weight.value, made.steps) == (5, 8)  # pyright: ignore


@pytest.mark.parametrize(
    ("method", "changes", "message"),
    [
        ("factorvae", {}, r"^here: unknown method 'factorvae'\. Did you mean 'factor_vae'"),
        ("beta_vae", {"betta": 1}, r"^here: unknown field 'betta'\. Did you mean 'beta'"),
        ("vae", {"latent_dim": 3}, r"Did you mean 'latent\.dim'\? \(In Python: latent__dim=\.\.\.\) Known"),
        ("vae", {"learning_rate": 3}, r"Did you mean 'optimizer\.lr' or 'critic_optimizer\.lr'\?"),
        ("vae", {"epochs": 3}, r"Did you mean '--epochs 20'\? Known"),
        ("beta_vae", {"beta": -1}, r"^here\.beta: input should be greater than or equal to 0, got -1"),
        ("vae", {"steps": 3, "latent.dmi": 4}, r"^here\.latent: unknown field of Diagonal 'dmi'"),
        ("info_vae", {"l": 0.5}, r"^here: a, l: the weights .* must not be negative"),
        ("control_vae", {"target": -1}, r"^here\.weight\.target: input should be greater than 0"),
        ("vae", {"data": "nowhere"}, r"^here\.data: unknown dataset 'nowhere'"),
        ("dynamic_vae", {"ramp": 1000}, r"at most the period of 333 steps, got 1000; what is not set is shortened"),
    ],
)
def test_an_error_names_the_place(method: str, changes: dict[str, object], message: str) -> None:
    with pytest.raises(HatchelError, match=message):
        resolve(method, DATA, changes, where="here")


def test_an_error_names_the_change_among_several() -> None:
    changes = [Change("beta", 2, "set"), Change("steps", 0, "methods[1]"), Change("seed", 1, "set")]
    with pytest.raises(HatchelError, match=r"^methods\[1\]\.steps: input should be greater than 0"):
        resolve("beta_vae", DATA, changes)


@pytest.mark.parametrize(
    ("method", "term", "values"),
    [
        ("annealed_vae", "kl", {"steps": 1_000, "end": 25.0}),
        ("control_vae", "kl", {"steps": 1_000, "ki": 0.1, "kp": 0.01, "target": 18.0, "start": 0.5}),
        ("dynamic_vae", "kl", {"period": 50, "ramp": 10, "ki": 0.1, "initial": 150.0, "window": 5}),
        ("nvae_lite", "kl", {"steps": 100}),
        ("ladder_vae", "kl", {"steps": 100}),
        ("joint_vae", "kl_style", {"steps": 800}),
    ],
)
def test_schedules_take_the_share_of_a_short_training_that_they_take_of_the_papers(
    method: str, term: str, values: dict[str, float]
) -> None:
    weight = resolve(method, DATA, {"steps": 3_000}).objective[term].weight
    assert {name: getattr(weight, name) for name in values} == values
    whole = resolve(method, DATA, {"steps": 300_000}).objective[term].weight
    shortest = resolve(method, DATA, {"steps": 3}).objective[term].weight
    for name in values.keys() & {"steps", "period", "ramp"}:
        assert getattr(shortest, name) == 1
        assert getattr(whole, name) > 90 / 3 * values[name]


def test_schedules_of_terms_and_latents() -> None:
    spec = resolve("cascade_vae", DATA, {"steps": 3_000, "classes": 3})
    assert spec.objective["closed"].term.every == 200  # pyright: ignore
    assert spec.latent.warmup == 200  # pyright: ignore
    spec = resolve("hf_vae", DATA, {"steps": 3_000, "temperature.end": 0.3})
    assert (spec.latent.temperature.steps, spec.latent.temperature.end) == (100, 0.3)  # pyright: ignore


def test_what_is_set_stays() -> None:
    def weight(method: str | Method, **changes: object) -> object:
        return resolve(method, DATA, {"steps": 3_000} | changes).objective["kl"].weight

    assert weight("annealed_vae", climb=70).steps == 70  # pyright: ignore
    assert weight("annealed_vae", climb=100_000).steps == 100_000  # pyright: ignore
    short = PI(target=18.0, steps=1_000, ki=0.1)
    assert weight("control_vae") == short
    assert weight("control_vae", climb=5) == weight("control_vae", **{"weight.steps": 5}) == short.with_fields(steps=5)
    assert weight("control_vae", weight={"target": 9, "steps": 5}) == PI(target=9, steps=5, ki=0.1)
    assert weight("control_vae", weight=PI(ki=0.5)) == PI(steps=1_000, ki=0.5)
    assert weight(ControlVAE(PI(target=9, steps=50))) == PI(target=9, steps=50, ki=0.1)
    assert weight("dynamic_vae", beta=50) == IncrementalPI(period=50, ramp=10, ki=0.1, initial=50, high=50)
    assert weight("control_vae", **{"objective.kl.weight.ki": 0.2}) == short.with_fields(ki=0.2)


def test_a_controller_gets_as_far_in_a_short_training() -> None:
    """An error of one nat takes DynamicVAE's beta from 150 to 0 in 150,000 steps of 300,000, or 1,500 of 3,000."""
    for steps in (300_000, 3_000):
        weight = resolve("dynamic_vae", DATA, {"steps": steps}).objective["kl"].weight
        assert isinstance(weight, IncrementalPI)
        assert weight.ki * steps / 2 == pytest.approx(weight.initial)


def test_a_plug_in_is_shortened_like_a_built_in_method(ramped: type[Method]) -> None:
    spec = resolve("ramped", DATA, {"ramp.end": 2.0, "steps": 3_000})
    assert spec.objective["more"].weight == Ramp(0.0, 50.0, 300)
    assert spec.objective["kl"].weight == Ramp(end=2.0, steps=100)
    assert resolve("ramped", DATA, {"ramp": "ramp", "warmup": 7, "steps": 9}).objective["more"].weight.steps == 7  # pyright: ignore
    with pytest.raises(HatchelError, match=r"^there\.warmup: input should be greater than 0, got 0"):
        resolve("ramped", DATA, [Change("ramp", {}, "there"), Change("warmup", 0, "there")])
    assert (default_of("ramped", "warmup"), default_of("ramped", "ramp"), default_of("ramped", "steps")) == (
        30_000,
        None,
        None,
    )


def test_a_run_is_named_by_what_was_typed() -> None:
    changes = {"beta": 4, "steps": 9, "latent.dim": 3, "seed": 1, "device": "cpu", "encoder": Mlp()}
    made = resolve("beta_vae", DATA, changes)
    assert made.title == "beta_vae beta=4 latent.dim=3 encoder=mlp"
    ramp = resolve("beta_vae", DATA, {"beta": {"kind": "ramp", "end": 4}, "data.size": 32})
    assert (ramp.title, resolve("beta_vae", DATA).title) == ("beta_vae beta=ramp(end=4)", "beta_vae")
    assert made.digest() == made.with_fields(typed="").digest()
    assert made == made.with_fields(typed="")


def test_lists_that_are_values() -> None:
    assert holds_list("ladder_vae", "layers")
    assert holds_list("vae", "encoder.hidden") is False
    assert not holds_list("dynamic_vae", "target")
