"""The verb sweep: what it refuses before anything starts."""

import pytest

from testbed.cli.main import main


@pytest.mark.parametrize(
    ("grid", "complaint"),
    [
        pytest.param(["path.rtt"], "write KEY=V1,V2", id="no-values"),
        pytest.param(["path.rtt=1ms,1ms"], "1ms is there twice", id="twice"),
        pytest.param(["path.rtt=1ms,3"], "is not a time", id="bad-value"),
        pytest.param(["path.rat=1ms"], "path.rat", id="unknown-key"),
        pytest.param(
            ["path.rtt=1ms", "path.rtt=2ms"], "needs one --grid", id="key-twice"
        ),
        pytest.param(["kernel=9.99"], "there is no kernel '9.99'", id="kernel"),
        pytest.param(["topology=ring"], "no topology 'ring'", id="topology"),
    ],
)
def test_a_mistake_in_a_grid_stops_it_before_anything_runs(
    grid, complaint, tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    axes = [part for each in grid for part in ("--grid", each)]

    assert main(["sweep", "refine-tso-autosizing", *axes]) == 2

    told = capsys.readouterr()
    assert complaint in " ".join(told.err.split())
    assert told.out == ""
    assert not (tmp_path / "captures").exists()


def test_a_sweep_needs_a_grid(capsys) -> None:
    with pytest.raises(SystemExit) as error:
        main(["sweep", "refine-tso-autosizing"])

    assert error.value.code == 2
    assert "--grid" in capsys.readouterr().err
