"""What `import hatchel` offers: one flat list of names, nothing heavy before one is used."""

from __future__ import annotations

import subprocess
import sys

import pytest

import hatchel

OFFERED = (
    "Term Metric Latent Encoder Decoder Estimator Weight Method Source Study Run train load evaluate "
    "Disentangler HatchelError RunSpec Estimate resolve"
)


def test_every_name_is_there_and_listed() -> None:
    for name in OFFERED.split():
        assert getattr(hatchel, name).__name__ == name
    assert set(OFFERED.split()) | {"__version__"} == set(hatchel.__all__)
    assert set(hatchel.__all__) <= set(dir(hatchel))
    assert hatchel.data.__name__ == "hatchel.data"


def test_a_name_of_0_1_answers_with_the_new_one() -> None:
    with pytest.raises(AttributeError, match=r"hatchel\.preset of 0\.1 is now hatchel\.train\(\"beta_vae\", beta=4\)"):
        _ = hatchel.preset
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = hatchel.nothing


def test_importing_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys, time; begin = time.perf_counter(); import hatchel; dir(hatchel); "
        "print(time.perf_counter() - begin, [m for m in ('torch', 'numpy', 'sklearn', 'pydantic') if m in sys.modules])"
    )
    found = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    texts = [done.stdout.split(maxsplit=1) for done in found]
    assert min(float(seconds) for seconds, _ in texts) < 0.3
    assert {heavy.strip() for _, heavy in texts} == {"[]"}
