"""Frozen records to plain JSON values and back, by their own type annotations."""

import dataclasses
import types
import typing
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

from testbed.errors import SpecError

T = TypeVar("T")


def encode(value: object) -> Any:  # JSON has no better type
    """Return value as dicts, lists and scalars that json.dumps takes as they are."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {
            each.name: encode(getattr(value, each.name))
            for each in dataclasses.fields(value)
        }
    if isinstance(value, Mapping):
        return {str(key): encode(each) for key, each in value.items()}
    if isinstance(value, tuple | list):
        return [encode(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    return str(value) if isinstance(value, Path) else value


def decode(type_: type[T], value: object) -> T:
    """Return the record of type_ that encode() turned into value.

    Raises SpecError when value does not have that shape.
    """
    try:
        return typing.cast("T", _decode(type_, value))
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise SpecError(f"this is no {type_.__name__}: {error}") from error


def _decode(type_: Any, value: Any) -> Any:  # any type, any JSON
    if dataclasses.is_dataclass(type_):
        hints = typing.get_type_hints(type_)
        known = {each.name for each in dataclasses.fields(type_)}
        given = {key: _decode(hints[key], value[key]) for key in value if key in known}
        return type_(**given)  # type: ignore[operator]  # a dataclass, not an instance
    origin, arguments = typing.get_origin(type_), typing.get_args(type_)
    if origin in (types.UnionType, typing.Union):
        return _decode_union(arguments, value)
    if origin is tuple:
        return tuple(_decode(arguments[0], each) for each in value)
    if origin is not None and issubclass(origin, Mapping):
        return {key: _decode(arguments[1], each) for key, each in value.items()}
    if type_ in (Path,) or (isinstance(type_, type) and issubclass(type_, Enum)):
        return type_(value)
    return value


def _decode_union(arguments: tuple[Any, ...], value: Any) -> Any:
    if value is None or isinstance(value, tuple(a for a in arguments if a in _SCALARS)):
        return value
    (record,) = (each for each in arguments if each not in _SCALARS)
    return _decode(record, value)


_SCALARS = (type(None), int, float, str, bool)
