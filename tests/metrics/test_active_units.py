import numpy as np

from hatchel.metrics import active_units


def test_variance_above_the_threshold_counts():
    codes = np.array([[-1.0], [1.0]]) * [0.0, 0.099, 0.101, 2.0]
    assert active_units(codes).value == 2
    assert active_units(codes, threshold=0.005).value == 3
