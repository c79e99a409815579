"""Tables from files: what is read, what is refused, and that messages show no cell."""

from __future__ import annotations

import hashlib

import pandas as pd
import pytest

from tacit.data import load, read_table
from tacit.errors import BadInput, UnknownName

from .tables import labelled


@pytest.mark.parametrize("name", ["people.csv", "people.csv.gz", "people.parquet", "PEOPLE.CSV", "people.pq"])
def test_a_table_is_read_as_it_was_written_with_the_fingerprint_of_its_bytes(tmp_path, name):
    path, frame = tmp_path / name, labelled()
    if "csv" in name.lower():
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    raw = read_table(path)
    pd.testing.assert_frame_equal(raw.frame, frame, check_dtype=False)
    assert raw.fingerprint == hashlib.sha256(path.read_bytes()).hexdigest()
    assert raw.own
    assert raw.name == name


def test_a_file_is_read_once_and_again_only_when_it_has_changed(tmp_path):
    path = tmp_path / "people.csv"
    labelled().to_csv(path, index=False)
    first = read_table(path)
    assert read_table(path) is first
    assert load(str(path)) is first
    labelled(rows=41).to_csv(path, index=False)
    second = read_table(path)
    assert len(second.frame) == 41
    assert second.fingerprint != first.fingerprint


def refused(path, contents: bytes | None = None) -> str:
    if contents is not None:
        path.write_bytes(contents)
    with pytest.raises(BadInput) as caught:
        read_table(path)
    return str(caught.value)


def test_a_file_that_is_neither_csv_nor_parquet_is_refused(tmp_path):
    assert "'people.xlsx'" in refused(tmp_path / "people.xlsx", b"PK")
    assert "does not exist" in refused(tmp_path / "nobody.csv")
    assert "something else" in refused(tmp_path / "wrong.parquet", b"age,height\n1,2\n")
    assert "a Parquet file" in refused(tmp_path / "wrong.csv", b"PAR1" + bytes(20))
    assert "cannot be read" in refused(tmp_path / "cut.parquet", b"PAR1" + bytes(20))
    assert "cannot be read" in refused(tmp_path / "empty.csv", b"")
    assert "cannot be read" in refused(tmp_path / "latin.csv", "name\nJosé\n".encode("latin-1"))


def test_a_ragged_file_is_refused_without_showing_what_is_in_it(tmp_path):
    message = refused(tmp_path / "ragged.csv", b"age,height\n1,2\n3,4,secret\n")
    assert "cannot be read" in message
    assert "secret" not in message


def test_two_columns_of_one_name_are_refused_by_that_name(tmp_path):
    assert "'age' more than once" in refused(tmp_path / "twice.csv", b"age,height,age\n1,2,3\n")


def test_a_name_that_is_no_set_is_answered_with_the_nearest_ones():
    with pytest.raises(UnknownName, match="Did you mean digits"):
        load("digit")


def test_a_table_does_not_print_its_rows(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text("name,age\nsecret,7\n", "utf-8")
    assert "secret" not in repr(read_table(path))
