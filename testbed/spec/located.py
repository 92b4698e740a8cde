"""YAML read so that every value knows the file and line it came from.

Nothing is ever constructed but dicts, lists, strings, numbers, booleans and None
(yaml.SafeLoader). Read first: read_yaml, merge, Section.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import yaml

from testbed.errors import PlacedError, SpecError

T = TypeVar("T")

_LONGEST = 1_000_000  # characters: a thousand times what the shipped ones have


@dataclass(frozen=True, slots=True)
class Located:
    """A value and where it was written: "file:line", or the flag that gave it.

    value: a scalar, a dict of str to Located, or a list of Located.
    """

    value: object
    where: str

    def plain(self) -> object:
        """Return the value with the places stripped, all the way down."""
        if isinstance(self.value, dict):
            return {key: each.plain() for key, each in self.value.items()}
        if isinstance(self.value, list):
            return [each.plain() for each in self.value]
        return self.value


def read_yaml(path: Path) -> Located:
    """Read one YAML document. SpecError with file and line if it is not good YAML."""
    try:
        text = _read_text(path)
        _refuse_aliases(text, path)
        loader = yaml.SafeLoader(text)
        try:
            return _locate(loader, loader.get_single_node(), path)
        finally:
            loader.dispose()
    except OSError as error:
        raise PlacedError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PlacedError(f"{path}: not a text file: {error.reason}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise PlacedError(f"{path}:{line}: not good YAML: {error.problem}") from error
    except yaml.YAMLError as error:
        raise PlacedError(f"{path}: not good YAML: {error}") from error
    except (RecursionError, ValueError) as error:
        raise PlacedError(f"{path}: not good YAML: {error}") from error


def _read_text(path: Path) -> str:
    # A device such as /dev/zero never ends.
    with path.open() as file:
        text = file.read(_LONGEST + 1)
    if len(text) > _LONGEST:
        raise PlacedError(f"{path}: more than {_LONGEST} characters is no experiment")
    return text


def _refuse_aliases(text: str, path: Path) -> None:
    # A few lines of aliases of aliases expand to gigabytes.
    for token in yaml.scan(text, Loader=yaml.SafeLoader):
        if isinstance(token, yaml.AliasToken):
            line = token.start_mark.line + 1
            raise PlacedError(f"{path}:{line}: *{token.value}: aliases are not taken")


def _locate(loader: yaml.SafeLoader, node: yaml.Node | None, path: Path) -> Located:
    if node is None:
        return Located({}, f"{path}:1")
    where = f"{path}:{node.start_mark.line + 1}"
    if isinstance(node, yaml.MappingNode):
        pairs: dict[str, Located] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            place = f"{path}:{key_node.start_mark.line + 1}"
            if not isinstance(key, str):
                raise PlacedError(f"{place}: {key!r} is no key; keys are words")
            if key in pairs:
                raise PlacedError(f"{place}: {key} stands here twice")
            value = _locate(loader, value_node, path)
            pairs[key] = Located(value.value, place)
        return Located(pairs, where)
    if isinstance(node, yaml.SequenceNode):
        return Located([_locate(loader, each, path) for each in node.value], where)
    return Located(loader.construct_object(node, deep=True), where)


def locate(value: object, where: str) -> Located:
    """Return plain dicts, lists and scalars as if all were written at one place."""
    if isinstance(value, dict):
        return Located({str(k): locate(v, where) for k, v in value.items()}, where)
    if isinstance(value, list):
        return Located([locate(each, where) for each in value], where)
    return Located(value, where)


def merge(base: Located | None, over: Located | None) -> Located:
    """Return base with over laid on top: mappings key by key, anything else whole."""
    if base is None or over is None:
        return base or over or Located({}, "")
    if not (isinstance(base.value, dict) and isinstance(over.value, dict)):
        return over
    keys = [*base.value, *(key for key in over.value if key not in base.value)]
    merged = {key: _merge_key(base.value, over.value, key) for key in keys}
    return Located(merged, over.where)


def _merge_key(
    base: Mapping[str, Located], over: Mapping[str, Located], key: str
) -> Located:
    return merge(base.get(key), over.get(key))


class Section:
    """A mapping that is read key by key, and complains about what nobody asked for."""

    def __init__(self, located: Located, what: str) -> None:
        if not isinstance(located.value, dict):
            raise PlacedError(f"{located.where}: {what} is a mapping of keys to values")
        self._values: Mapping[str, Located] = located.value
        self._where = located.where
        self._what = what
        self._asked: list[str] = []

    def need_all(self, *keys: str) -> None:
        """Raise SpecError unless all these keys are there; it names those that lack."""
        lacking = [repr(key) for key in keys if key not in self._values]
        if lacking:
            word = "key" if len(lacking) == 1 else "keys"
            needed = f"needs the {word} {', '.join(lacking)}"
            raise PlacedError(f"{self._where}: {self._what} {needed}")

    def need(self, key: str, parse: Callable[[object], T]) -> T:
        """Return the value of key, parsed; SpecError if it is absent."""
        self.need_all(key)
        value = self.get(key, parse)
        if value is None:
            raise PlacedError(f"{self._values[key].where}: {key} needs a value")
        return value

    def get(self, key: str, parse: Callable[[object], T]) -> T | None:
        """Return the value of key, parsed, or None if it is absent or null."""
        located = self.raw(key)
        if located is None or located.value is None:
            return None
        try:
            return parse(located.plain())
        except SpecError as error:
            raise PlacedError(f"{located.where}: {key}: {error}") from error

    def raw(self, key: str) -> Located | None:
        """Return the value of key with its places, or None if it is absent."""
        self._asked.append(key)
        return self._values.get(key)

    def section(self, key: str) -> "Section":
        """Return the mapping below key; an empty one if it is absent."""
        return Section(self.raw(key) or Located({}, self._where), key)

    def make(self, record: Callable[[], T]) -> T:
        """Return record(), made of this section's keys.

        Its SpecErrors get their place, and a key that it never asked for is one.
        """
        try:
            made = record()
        except PlacedError:
            raise
        except SpecError as error:
            raise PlacedError(f"{self._where}: {self._what}: {error}") from error
        self._done()
        return made

    def _done(self) -> None:
        for key, located in self._values.items():
            if key not in self._asked:
                known = ", ".join(dict.fromkeys(self._asked))
                raise PlacedError(
                    f"{located.where}: unknown key {key!r} in {self._what}; "
                    f"known here: {known}"
                )
