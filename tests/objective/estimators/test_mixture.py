"""The streamed sum's memory, in a process of its own."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import resource, torch
torch.set_num_threads(1)
from hatchel.objective.estimators.minibatch import MSS
from hatchel.latents.diagonal import DiagonalGaussian, StandardNormal
from hatchel.objective.trace import Batch, Trace
B, D = 4096, 10
g = torch.Generator().manual_seed(0)
mean, log_variance = (torch.randn(B, D, generator=g).requires_grad_() for _ in range(2))
q = DiagonalGaussian(mean, log_variance)
t = Trace(Batch(torch.zeros(B, 1), 737280), torch.zeros(B), q, StandardNormal(q.layout), q.rsample(g))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
MSS().log_q(t, (q.layout.whole, *q.layout.singles)).sum().backward()
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20)
"""


def test_a_batch_of_4096_stays_within_a_gigabyte() -> None:
    """B x B x D floats alone would be 0.67 GB, and autograd would keep several of them."""
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.0
