"""Random streams by name: every draw is a function of (seed, stream, step), never of what was drawn before.

So a resumed run, a run on two processes and a run on another device draw the same numbers without saving any state.

And so what a step draws, and what its schedules say, can be made outside of it: `Recorder` notes what a step asks for,
`Given` answers with numbers that were made before. A compiled step, or one of several seeds at once, is such.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, Self, cast

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode


class Stream(torch.Generator):
    """A generator that knows its stream's name."""

    name: str = ""


class Later:
    """Stands for a stream while torch compiles a step, whose numbers are given."""

    def __init__(self, name: str) -> None:
        self.name = name

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Tensor:
        """What `func(..., generator=it)` would draw."""
        assert kwargs is not None
        assert _given is not None
        return _given.drawn(kwargs["generator"].name)


def generator(seed: int, stream: str, step: int = 0) -> Stream:
    """A fresh CPU generator for one stream at one step.

    >>> a, b = (torch.rand(2, generator=generator(0, "noise", 7)) for _ in range(2))
    >>> bool((a == b).all())
    True
    """
    if torch.compiler.is_compiling():
        return cast(Stream, Later(stream))
    text = f"{seed}/{stream}/{step}".encode()
    number = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")
    source = Stream()
    source.name = stream
    source.manual_seed(number & (2**63 - 1))
    return source


def scheduled(at: Callable[[Any], float], step: int | None, like: Tensor | None = None) -> float:
    """`at(step)`, for what changes with the step; while torch compiles a tensor (), which every step is given anew.

    A number would be compiled in, and each step compiled again. `like`: the precision of the tensor, else float64.
    """
    if torch.compiler.is_compiling() and _given is not None:
        said = _given.said()
        return cast(float, said if like is None else said.to(like.dtype))
    recorder = _recorder.get()
    if recorder is not None and step is not None:
        recorder.schedules.append(at)
    return at(step)


class Draw(NamedTuple):
    """One call that draws numbers."""

    call: Callable[..., Tensor]
    arguments: tuple[Any, ...]
    options: Mapping[str, Any]
    stream: int
    """Which of the step's generators it drew from; what draws twice from one must do so again."""


class Recorder(TorchFunctionMode):
    """Notes what a step draws, from which streams, and which schedules it asks."""

    def __init__(self) -> None:
        super().__init__()
        self._draws: list[Draw] = []
        self._streams: dict[Stream, int] = {}
        self.schedules: list[Callable[[int], float]] = []

    def __enter__(self) -> Self:
        self._before = _recorder.set(self)
        super().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        _recorder.reset(self._before)
        super().__exit__(*error)

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        options = dict(kwargs or {})
        source = options.pop("generator", None)
        if isinstance(source, Stream):
            number = self._streams.setdefault(source, len(self._streams))
            self._draws.append(Draw(func, args, options, number))
        return func(*args, **(kwargs or {}))

    @property
    def names(self) -> tuple[str, ...]:
        """The stream of each draw."""
        names = [stream.name for stream in self._streams]
        return tuple(names[draw.stream] for draw in self._draws)

    def drawn(self, seed: int, step: int) -> list[Tensor]:
        """The same draws for another seed and step."""
        sources = [generator(seed, stream.name, step) for stream in self._streams]
        return [
            draw.call(
                *(torch.empty_like(a) if isinstance(a, Tensor) else a for a in draw.arguments),
                **draw.options,
                generator=sources[draw.stream],
            )
            for draw in self._draws
        ]

    def said(self, step: int) -> list[Tensor]:
        """What the schedules say of another step."""
        return [torch.tensor(float(at(step)), dtype=torch.float64) for at in self.schedules]


class Given:
    """Within it, and while torch compiles, a step gets what was made before, in the order in which it asks."""

    def __init__(self, draws: Sequence[Tensor], names: Sequence[str], said: Sequence[Tensor]) -> None:
        """`names`: of the draws' streams; `said`: what schedules say."""
        self._draws, self._names, self._said = list(draws), list(names), list(said)

    def __enter__(self) -> None:
        global _given
        _given = self

    def __exit__(self, *error: object) -> None:
        global _given
        _given = None
        assert error[0] is not None or not self._draws + self._said, "a step asks for less than was noted"

    def drawn(self, name: str) -> Tensor:
        assert self._names.pop(0) == name, "a step draws other numbers than were noted"
        return self._draws.pop(0)

    def said(self) -> Tensor:
        return self._said.pop(0)


_recorder: ContextVar[Recorder | None] = ContextVar("recorder", default=None)
_given: Given | None = None
"""Who answers while torch compiles: only its tracing ever sees this set, so that threads do not meet here."""
