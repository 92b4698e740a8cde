"""docs/experiment.md and the loader: the same keys, defaults and ranges."""

import copy
import re
from pathlib import Path

import pytest
import yaml
from documents import CHECKOUT, blocks, sections, tables

from testbed.errors import SpecError
from testbed.spec.experiment import Experiment
from testbed.spec.load import load_experiment
from testbed.spec.qdisc import QDISCS
from testbed.units import parse_rate, parse_share, parse_size, parse_time

PAGE = CHECKOUT / "docs/experiment.md"
SECTIONS = sections(PAGE)
#: Where the keys of each section stand in a file.
PLACES = {
    "The file": "",
    "Variants": "variants.before.",
    "Path": "path.",
    "Hosts": "sender.",
    "Link sizes": "sender.link_sizes.",
    "Workload": "workload.",
    "Groups": "workload.groups.0.",
    "Patch": "patch.",
    "Claims": "claims.0.",
}
MINIMAL = {
    "question": "Does it?",
    "patch": {"subject": "s", "author": "a", "date": "d", "mail": "m", "fate": "f"},
    "workload": {"bytes": 1000},
    "variants": {"before": {}, "after": {}},
    "claims": [{"metric": "tso_size", "before": 1, "source": "s"}],
}
_FQ_CODEL = {"path.shaper": "htb", "path.discipline": "fq_codel"}
_FOR_A_TIME = {"workload.bytes": None, "workload.duration": "1s"}
_TRANSACTION = {"workload.request_size": 1, "workload.response_size": 1}
#: What some keys take beside them.
BESIDE = {
    "path.ce_threshold": _FQ_CODEL,
    "workload.bytes": {"workload.duration": None},
    "workload.duration": {"workload.bytes": None},
    "workload.request_size": {**_FOR_A_TIME, **_TRANSACTION},
    "workload.response_size": {**_FOR_A_TIME, **_TRANSACTION},
}
#: Defaults that are said in words.
WORDS = (
    *("see there", "the device's", "the workload's"),
    "fq at the sender, none at the receiver",
    "TSO and GSO at the sender, GRO at the receiver",
)
#: How a number in base units is written, and read.
WRITTEN = {
    "time": (parse_time, "{}ns"),
    "rate": (parse_rate, "{}bit"),
    "size": (parse_size, "{}"),
    "count": (int, "{}"),
    "share": (lambda text: int(100 * parse_share(text)), "{}%"),
}


def rows(section: str) -> dict[str, list[str]]:
    """Return the rows of a section's table by their first cell."""
    (table,) = tables(SECTIONS[section])
    return {row[0].strip("`"): row[1:] for row in table[1:]}


ROWS = {
    PLACES[section] + key: cells
    for section in PLACES
    for key, cells in rows(section).items()
}


def load(folder: Path, changes: dict[str, object], leave_out: str = "") -> Experiment:
    """Load the minimal experiment with values put at dotted places."""
    tree = copy.deepcopy(MINIMAL)
    for place, value in changes.items():
        put(tree, place, value)
    if leave_out:
        put(tree, leave_out, None)
        inner(tree, leave_out).pop(leave_out.rpartition(".")[2])
    path = folder / "mine.yaml"
    path.write_text(yaml.safe_dump(tree))
    return load_experiment(str(path))


def inner(tree: dict, place: str) -> dict:
    """Return the mapping that a dotted place is in, made if need be."""
    for part in place.split(".")[:-1]:
        if isinstance(tree, list):
            tree = tree[int(part)]
        else:
            tree = tree.setdefault(part, [{"flows": 1}] if part == "groups" else {})
    return tree


def put(tree: dict, place: str, value: object) -> None:
    inner(tree, place)[place.rpartition(".")[2]] = value


def rows_with(column: int, pattern: str) -> list[str]:
    return [
        place for place, cells in ROWS.items() if re.fullmatch(pattern, cells[column])
    ]


@pytest.mark.parametrize("section", PLACES)
def test_every_key_of_the_loader_is_documented_and_no_other(section, tmp_path) -> None:
    with pytest.raises(SpecError) as told:
        load(tmp_path, {PLACES[section] + "no_such_key": 1})

    known = re.search(r"(?:known here|it has|known): (.+)$", str(told.value))[1]
    # A claim has the variants' names among its keys, of which the page speaks in words.
    variants = MINIMAL["variants"] if section == "Claims" else {}
    assert set(rows(section)) == set(known.split(", ")) - set(variants)


@pytest.mark.parametrize("place", rows_with(1, "required"))
def test_what_is_required_is_missed(place, tmp_path) -> None:
    with pytest.raises(SpecError, match="needs"):
        load(tmp_path, {}, leave_out=place)


@pytest.mark.parametrize("place", rows_with(1, "`.+`|none"))
def test_a_documented_default_is_what_absence_means(place, tmp_path) -> None:
    cell = ROWS[place][1]
    value = None if cell == "none" else yaml.safe_load(cell.strip("`"))
    changes = _FOR_A_TIME if place == "workload.bytes" else {}

    assert load(tmp_path, {**changes, place: value}) == load(
        tmp_path, changes, leave_out=place
    )


def test_other_defaults_are_said_in_known_words() -> None:
    said = {cells[1] for cells in ROWS.values()}

    assert {each for each in said if not re.fullmatch("`.+`|none|required", each)} == {
        *WORDS
    }


@pytest.mark.parametrize("place", rows_with(0, ".*`.+` to `.+`"))
def test_a_documented_range_is_the_range_that_loads(place, tmp_path) -> None:
    kind = ROWS[place][0].split(",")[0]
    parse, form = WRITTEN[kind]
    least, most = map(parse, re.findall("`(.+?)`", ROWS[place][0]))

    def loads(number: int) -> bool:
        text = form.format(number)
        value = int(text) if kind in ("count", "size") else text
        try:
            load(tmp_path, {**BESIDE.get(place, {}), place: value})
        except SpecError:
            return False
        return True

    inside = [loads(least), loads(most)]
    assert (inside, loads(most + 1)) == ([True, True], False)
    assert least == 0 or not loads(least - 1)


def test_every_option_of_every_qdisc_is_documented_and_no_other() -> None:
    documented = {
        kind: set(re.findall("`(.+?)`", cells[0]))
        for kind, cells in rows("Qdiscs").items()
    }

    assert documented == {kind: set(options) for kind, options in QDISCS.items()}


def test_every_switch_of_our_patches_is_documented_and_no_other() -> None:
    patches = (CHECKOUT / "testbed/kernels/patches").glob("*.patch")
    found = re.compile(r"^\+module_param(?:_named|_string)?\((\w+), .*0644\)", re.M)
    switches = {name for patch in patches for name in found.findall(patch.read_text())}

    assert {name.split(".")[1] for name in rows("Switches")} == switches


@pytest.mark.parametrize(
    "block", [each for each in blocks(PAGE) if each.kind == "yaml"]
)
def test_an_example_loads(block, tmp_path) -> None:
    (tmp_path / "mine.yaml").write_text(block.text)

    assert load_experiment(str(tmp_path / "mine.yaml")).claims
