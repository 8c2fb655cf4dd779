"""Caches that torch's compiler can trace: functools' own property has a lock in Python 3.11."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Self, TypeVar, overload

import torch

Value = TypeVar("Value", covariant=True)
Arguments = ParamSpec("Arguments")


class cached(Generic[Value]):
    """A property that is worked out when it is first read, and kept in the object.

    >>> class Sum:
    ...     reads = 0
    ...
    ...     @cached
    ...     def value(self) -> int:
    ...         self.reads += 1
    ...         return 5
    >>> it = Sum()
    >>> it.value + it.value, it.reads
    (10, 1)
    """

    def __init__(self, work: Callable[[Any], Value]) -> None:
        self._work, self._name = work, work.__name__
        self.__doc__ = work.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Any]) -> Self: ...
    @overload
    def __get__(self, owner: object, kind: type[Any] | None = None) -> Value: ...
    def __get__(self, owner: object | None, kind: type[Any] | None = None) -> Self | Value:
        if owner is None:
            return self
        value = self._work(owner)
        owner.__dict__[self._name] = value  # found before this is asked again; of a frozen dataclass too
        return value


def remembered(most: int) -> Callable[[Callable[Arguments, Value]], Callable[Arguments, Value]]:
    """functools.lru_cache with so many entries; what is traced is worked out there, and torch has nothing to warn of.

    >>> @remembered(1)
    ... def asked(n: int) -> list[int]:
    ...     return [n]
    >>> asked(3) is asked(3)
    True
    """

    def of(work: Callable[Arguments, Value]) -> Callable[Arguments, Value]:
        known = functools.lru_cache(most)(work)

        @functools.wraps(work)
        def asked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Value:
            return work(*args, **kwargs) if torch.compiler.is_compiling() else known(*args, **kwargs)

        return asked

    return of
