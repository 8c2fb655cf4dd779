from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from hatchel.core.errors import HatchelError
from hatchel.core.files import Damaged
from hatchel.data.table import TableColumn
from hatchel.export.endpoints import DecoderEndpoint, EncoderEndpoint
from hatchel.export.onnx import read, write, write_decoder, write_encoder, write_endpoint
from hatchel.latents.correlated import Correlated
from hatchel.latents.diagonal import Diagonal
from hatchel.latents.latent import Latent
from hatchel.latents.likelihoods import Bernoulli, Columns, ContinuousBernoulli, Laplace
from hatchel.latents.likelihoods import Gaussian as GaussianLikelihood
from hatchel.latents.mixed import Mixed
from hatchel.latents.scaled_hierarchy import ScaledHierarchy
from hatchel.latents.variables import Concrete, Gaussian
from hatchel.nets.part import Decoder, Encoder
from hatchel.training.run import TrainedRun
from tests.torture import damages

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

LATENTS: list[tuple[Latent, int]] = [
    (Diagonal(3), 0),
    (Mixed({"class": Concrete(3), "style": Gaussian(2)}, prior="whole"), 0),
    (Correlated(3), 0),
    (ScaledHierarchy(Diagonal(3), levels=3), 2),
    (ScaledHierarchy(Diagonal(3), levels=2, spaces="linear"), 1),
    (ScaledHierarchy(Diagonal(3), levels=2, spaces="parallel"), 1),
]
LATENTS += [(member(), 0) for kind, member in Latent.members().items() if kind not in {t.kind for t, _ in LATENTS}]
LIKELIHOODS = [Bernoulli(), ContinuousBernoulli(), GaussianLikelihood(0.1, learned=True), Laplace()]
TABLE = Columns(
    (
        TableColumn("height", "gaussian", mean=1700.0, scale=90.0),
        TableColumn("tall", "bernoulli"),
        TableColumn("colour", "categorical", width=3),
    )
)


def called(path: Path, given: np.ndarray) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {session.get_inputs()[0].name: given})


@pytest.mark.slow
@pytest.mark.parametrize("kind, latent", list(zip(Encoder.members(), cycle(LATENTS), strict=False)))
def test_encoders(kind: str, latent: tuple[Latent, int], run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run, level = run_of(encoder=Encoder.members()[kind](), latent=latent[0]), latent[1]
    path = write_encoder(run, tmp_path / "e.onnx", level)
    images = np.random.default_rng(3).random((4, 16, 16, 1), dtype=np.float32)
    for found, wanted in zip(called(path, images.transpose(0, 3, 1, 2)), run.posterior(images, level), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
    assert [p.name for p in tmp_path.iterdir() if p.is_file()] == ["e.onnx"]


@pytest.mark.slow
@pytest.mark.parametrize("kind, likelihood", list(zip(Decoder.members(), cycle(LIKELIHOODS), strict=False)))
def test_decoders(kind: str, likelihood: object, run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run = run_of((3, 16, 16), decoder=Decoder.members()[kind](), likelihood=likelihood)
    path = write_decoder(run, tmp_path / "d.onnx")
    z = np.random.default_rng(3).standard_normal((4, 3), dtype=np.float32)
    (found,) = called(path, z)
    np.testing.assert_allclose(found.transpose(0, 2, 3, 1), run.decode(z), rtol=1e-5, atol=1e-5)


def test_a_level_is_decoded_with_its_embedding(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run = run_of((5,), latent=ScaledHierarchy(Diagonal(2), levels=2))
    (found,) = called(write_decoder(run, tmp_path / "d.onnx", 1), np.zeros((1, 2), np.float32))
    np.testing.assert_allclose(found, run.decode(np.zeros((1, 2)), 1), atol=1e-6)
    assert np.abs(found - run.decode(np.zeros((1, 2)), 0)).max() > 1e-3
    with pytest.raises(HatchelError, match="level: this run's latent has level 0 to 1, not 2"):
        write_decoder(run, tmp_path / "d.onnx", 2)


def test_the_rows_of_a_table_keep_their_units(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run = run_of((5,), columns=TABLE)
    done = write(run, tmp_path / "out")
    z = np.random.default_rng(0).standard_normal((6, 3), dtype=np.float32)
    (rows,) = called(done.files[1], z)
    assert rows.dtype == np.float64
    np.testing.assert_allclose(rows, run.decode(z), atol=1e-4)
    assert 1400 < rows[:, 0].min() < rows[:, 0].max() < 2000
    np.testing.assert_allclose(rows[:, 2:].sum(1), 1, atol=1e-6)
    mean, _ = called(done.files[0], rows)
    np.testing.assert_allclose(mean, run.posterior(rows)[0], atol=1e-5)
    graph = onnx.load(str(done.files[1])).graph
    assert [v.name for v in (*graph.input, *graph.output)] == ["z", "row"]


def test_the_file_is_one_operator_a_layer_and_tells_nothing_of_this_machine(
    run_of: Callable[..., TrainedRun], tmp_path: Path
):
    path = write_decoder(run_of(), tmp_path / "d.onnx")
    nodes = [node.op_type for node in onnx.load(str(path)).graph.node]
    assert nodes.count("ConvTranspose") == 2  # 4 px to 16
    assert len(nodes) < 20
    assert b"hatchel/" not in path.read_bytes()


def test_a_wrong_file_is_refused(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    endpoint = DecoderEndpoint(run_of(), 0)
    with torch.no_grad():
        next(endpoint.model.decoder.parameters()).add_(0.1)
    with pytest.raises(HatchelError, match=r"differ from the run's by .* not written"):
        write_endpoint(endpoint, tmp_path / "d.onnx")
    assert not (tmp_path / "d.onnx").exists()


class Fixed(nn.Module):
    """A plug-in's mistake: the number of items becomes a constant."""

    def forward(self, x: Tensor) -> Tensor:
        return x + torch.zeros(len(x), 1, 1, 1)


class Branching(nn.Module):
    """What the graph is depends on the data."""

    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


@pytest.mark.parametrize("net, reason", [(Fixed(), "fixes the number of items"), (Branching(), "cannot be written")])
def test_what_cannot_be_written_says_why(
    net: nn.Module, reason: str, run_of: Callable[..., TrainedRun], tmp_path: Path
):
    endpoint = EncoderEndpoint(run_of(), 0)
    endpoint.model.encoder = nn.Sequential(net, endpoint.model.encoder)
    with pytest.raises(HatchelError, match=reason) as caught:
        write_endpoint(endpoint, tmp_path / "e.onnx")
    assert "\n" not in str(caught.value)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_what_is_read_of_an_export_is_checked(run_of: Callable[..., TrainedRun], tmp_path: Path) -> None:
    run = run_of()
    with pytest.raises(HatchelError, match="hatchel export RUN --onnx"):
        read(tmp_path)
    write(run, tmp_path / "out")
    z = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    (image,) = read(tmp_path / "out")["decoder"].run(None, {"z": z})
    np.testing.assert_allclose(image.transpose(0, 2, 3, 1), run.decode(z), atol=1e-5)
    path = tmp_path / "out" / "decoder.onnx"
    whole = path.read_bytes()
    for _, content in damages(whole, 100, seed=3):
        path.write_bytes(content)
        with pytest.raises(Damaged, match=r"decoder.onnx: is damaged .*; export the run again"):
            read(tmp_path / "out")
