"""The inner layers of a recursive encoder beside the code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure

from hatchel.metrics._mig import MIG
from hatchel.metrics._pairwise_nmi import PairwiseNMI
from hatchel.metrics.heat_map import opacities
from hatchel.metrics.score import Score
from hatchel.report.findings import Findings
from hatchel.report.panels.levels import REPLICATES, bars
from hatchel.report.panels.panel import Drawing, Panel
from hatchel.report.style import INK, SMALL, boxless, sheet


class Layers(Panel):
    """MIG and dependence of the features m^l and of the code z (Chen et al. 2022, Fig. 1)."""

    title = "The layers of the encoder"
    place = 71

    def draw(self, found: Findings) -> Drawing | None:
        """Where the encoder shows its layers."""
        layers = measured_layers(found)
        if len(layers) < 2:
            return None
        caption = (
            "m: what the encoders of each module read, every feature map by its mean; z: the code. MIG: higher is "
            "better. Dependence: mean over pairs of I(i;j) / sqrt(H(i) H(j)), lower is better; below, all pairs, the "
            "stronger the colour the more they depend on each other."
        )
        return Drawing({"layers": layers_figure(layers)}, caption)


@dataclass(frozen=True)
class Layer:
    """What was measured of one layer."""

    mig: Score | None
    dependence: Score


def measured_layers(found: Findings) -> Mapping[str, Layer]:
    """From the input's side to the code; a layer of one feature has no pairs and is left out."""
    representations = {**found.encoded.layers, "z": found.encoded.mean}
    replicates = REPLICATES if any(s.interval for s in found.scores.values()) else 0
    layers: dict[str, Layer] = {}
    for name, codes in representations.items():
        if codes.shape[1] > 1:
            probe = found.probe_of(codes)
            mig = MIG().score(probe, found.probe.seed, replicates) if probe.values is not None else None
            layers[name] = Layer(mig, PairwiseNMI().score(probe, found.probe.seed, replicates))
    return layers


def layers_figure(layers: Mapping[str, Layer]) -> Figure:
    """Two charts over a row of matrices."""
    names, found = list(layers), list(layers.values())
    known = all(layer.mig for layer in found)
    figure = sheet(3.6)
    grid = figure.add_gridspec(2, 1, height_ratios=[1, 1.15])
    upper, lower = grid[0].subgridspec(1, 1 + known), grid[1].subgridspec(1, len(found))
    charts = [figure.add_subplot(cell) for cell in upper]
    if known:
        bars(charts[0], "MIG", names, [layer.mig for layer in found])
    bars(charts[-1], "dependence between features", names, [layer.dependence for layer in found])
    for axes, (name, layer) in zip((figure.add_subplot(cell) for cell in lower), layers.items(), strict=True):
        matrix = layer.dependence.matrix
        assert matrix is not None
        boxless(axes).imshow(opacities(matrix), interpolation="none")
        axes.set_title(name, color=INK, fontsize=SMALL, pad=4)
        places = np.arange(len(matrix))
        shown = places[:: max(1, len(matrix) // 8)]
        axes.set_xticks(shown, [str(i) for i in shown], fontsize=SMALL - 1)
        axes.set_yticks(shown, [str(i) for i in shown], fontsize=SMALL - 1)
    return figure
