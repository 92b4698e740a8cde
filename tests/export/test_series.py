import csv
import io
from pathlib import Path

from pyarrow import parquet
from report.builders import result

from testbed.export.formats import FORMATS, FilesFormat
from testbed.export.series import COLUMNS, csv_text, parquet_bytes


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_packet_and_ack_is_a_row(tmp_path: Path) -> None:
    rows = read(csv_text([result(tmp_path)]))

    assert tuple(rows[0]) == COLUMNS
    counted = {
        (row["variant"], row["said_by"], row["kind"]): sum(
            (row["variant"], row["said_by"], row["kind"])
            == (other["variant"], other["said_by"], other["kind"])
            for other in rows
        )
        for row in rows
    }
    assert counted[("before", "measured", "data")] == 50
    assert counted[("after", "measured", "data")] == 10
    assert counted[("after", "model", "data")] == 20
    assert counted[("after", "model", "ack")] == 20


def test_a_row_has_the_packets_own_numbers(tmp_path: Path) -> None:
    rows = read(csv_text([result(tmp_path)]))

    data = next(row for row in rows if row["kind"] == "data")
    assert (data["time_ns"], data["seq"], data["length"]) == ("40000000", "0", "2000")
    assert (data["ack"], data["window"]) == ("", "")
    ack = next(row for row in rows if row["kind"] == "ack")
    assert (ack["time_ns"], ack["ack"], ack["window"]) == ("80000000", "2000", "65536")


def test_rows_of_a_trace_are_in_the_order_of_time(tmp_path: Path) -> None:
    rows = read(csv_text([result(tmp_path)]))

    of_one = [
        int(row["time_ns"])
        for row in rows
        if (row["variant"], row["said_by"]) == ("before", "measured")
    ]
    assert of_one == sorted(of_one)


def test_parquet_holds_the_same_rows(tmp_path: Path) -> None:
    stored = result(tmp_path)

    table = parquet.read_table(io.BytesIO(parquet_bytes([stored])))

    as_text = [
        {name: "" if value is None else str(value) for name, value in row.items()}
        for row in table.to_pylist()
    ]
    assert as_text == read(csv_text([stored]))


def test_each_file_is_the_same_bytes_when_written_again(tmp_path: Path) -> None:
    stored = result(tmp_path)
    for how in FORMATS.values():
        if isinstance(how, FilesFormat):
            assert list(how.files([stored])) == list(how.files([stored]))
