"""A cached property that torch's compiler can trace: functools' own has a lock in Python 3.11."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

Value = TypeVar("Value", covariant=True)


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
