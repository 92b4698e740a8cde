"""All trials together, and how the verb tells what they found."""

import json

from rich.console import Console

from testbed.cli import doctor as verb
from testbed.cli.doctor import table_of
from testbed.cli.main import main
from testbed.doctor.finding import DEFAULT, have, is_ready, lack
from testbed.doctor.trials import findings

FOUND = (
    have("ptrace", "traced"),
    lack("qdisc [fq]", "unknown", "boot another"),
    have(DEFAULT, "booted"),
)


def test_findings_keep_the_order_of_their_trials() -> None:
    trials = (lambda: FOUND[:2], lambda: FOUND[2:])

    assert findings(trials) == FOUND


def test_ready_is_what_boots_uml() -> None:
    assert is_ready(FOUND)
    assert not is_ready(FOUND[:2])
    assert not is_ready((*FOUND[:2], lack(DEFAULT, "hung", "none")))


def test_the_table_has_a_remedy_for_what_is_missing_alone() -> None:
    console = Console(width=80)
    with console.capture() as told:
        console.print(table_of(FOUND))

    text = told.get()
    assert "qdisc [fq]  NO   unknown" in text
    assert text.count("to fix it: ") == 1


def test_the_verb_prints_json_and_exits_with_0_where_uml_runs(
    monkeypatch, capsys
) -> None:
    monkeypatch.setattr(verb, "findings", lambda: FOUND)

    assert main(["doctor", "--json"]) == 0

    answer = json.loads(capsys.readouterr().out)
    assert (answer["format"], answer["ready"]) == (1, True)
    assert answer["findings"][1] == {
        "name": "qdisc [fq]",
        "ok": False,
        "told": "unknown",
        "remedy": "boot another",
    }


def test_the_verb_exits_with_3_where_uml_does_not(monkeypatch, capsys) -> None:
    monkeypatch.setattr(verb, "findings", lambda: FOUND[:2])

    assert main(["doctor"]) == 3

    assert "cannot run" in capsys.readouterr().out
