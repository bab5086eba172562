# SPDX-License-Identifier: GPL-2.0-only
"""The run store: whole files or none, and damage is noticed."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tunnelcc as tc
from helpers import flow_carried_by, tunnel_named
from tunnelcc import catalog, scenario
from tunnelcc.store import FAILED, METRICS, RUN, Store, StoreError, run_id, runfile, summary
from tunnelcc.store import record as records
from tunnelcc.store.record import Record
from tunnelcc.store.runfile import NoSeriesError
from tunnelcc.store.summary import summarise


@pytest.fixture
def filled(tmp_path, plain_result, relay_result):
    """A store with two runs, and their ids."""
    ids = []
    store = Store(tmp_path / "runs")
    for result in (plain_result, relay_result):
        ids.append(run_id(result.experiment))
        store.add(ids[-1], RUN, runfile.encode(result.experiment, result))
    return tmp_path / "runs", ids


def _file(directory: Path, id_: str) -> Path:
    return directory / "runs" / id_[:2] / f"{id_}.run"


@pytest.mark.parametrize("result", ["plain_result", "relay_result"])
def test_a_run_comes_back_bit_for_bit(result, request):
    run = request.getfixturevalue(result)
    data = runfile.encode(run.experiment, run)
    back = runfile.decode(data)
    assert back.digests() == run.digests()
    assert back.to_json() == run.to_json()
    assert back.dataset.identical(run.dataset)
    assert runfile.encode(back.experiment, back) == data


def test_an_error_comes_back():
    experiment = tc.Experiment(duration="1s")
    back = runfile.decode(runfile.encode(experiment, tc.RunError("no luck\nat all")))
    assert isinstance(back, tc.RunError)
    assert str(back) == "no luck\nat all"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_change_of_a_file_goes_unnoticed(data, plain_result):
    whole = runfile.encode(plain_result.experiment, plain_result)
    kind = data.draw(st.sampled_from(["truncated", "altered", "extended"]))
    place = data.draw(st.integers(0, len(whole) - 1))
    byte = data.draw(st.integers(1, 255))
    changed = {
        "truncated": whole[:place],
        "altered": whole[:place] + bytes([whole[place] ^ byte]) + whole[place + 1 :],
        "extended": whole + bytes([byte]),
    }[kind]
    with pytest.raises((runfile.DamagedFileError, tc.TunnelccError)):
        runfile.decode(changed)
    # Metrics are read without the measurements: they are right, or told to be damaged.
    with contextlib.suppress(runfile.DamagedFileError):
        row = runfile.read_row("ab" * 16, io.BytesIO(changed))
        assert json.dumps(row.metrics) == json.dumps(summarise(plain_result))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_what_is_no_run_is_refused(data):
    for head in (b"", b"tunnelcc run 2\n", b"tunnelcc run 3\n"):
        with pytest.raises(runfile.DamagedFileError):
            runfile.decode(head + data)
        with pytest.raises(runfile.DamagedFileError):
            runfile.read_row("ab" * 16, io.BytesIO(head + data))


def test_a_file_of_a_newer_version_is_told():
    with pytest.raises(tc.TunnelccError, match="format 4 of a newer tunnelcc"):
        runfile.decode(b"tunnelcc run 4\nwhatever comes then")


def test_a_file_of_an_older_version_is_told():
    with pytest.raises(tc.TunnelccError, match=r"an older tunnelcc wrote it.* run it again"):
        runfile.decode(b"tunnelcc run 1\nwhatever came then")


def _old_file(result: tc.Result) -> bytes:
    """Return a run's file as versions before had it: without metrics."""
    body = runfile._body(result)
    text, _, numbers = body.partition(b"\n")
    table = {"experiment": result.experiment.table(), "measured": json.loads(text)}
    body = json.dumps(table).encode() + b"\n" + numbers
    return b"tunnelcc run 2\n%s\n%s" % (runfile._digest(body).encode(), body)


def test_a_store_of_an_older_version_is_read_and_continued(tmp_path, plain_result):
    id_, failed = run_id(plain_result.experiment), "ab" * 16
    store = Store(tmp_path)
    store.add(id_, RUN, _old_file(plain_result))
    body = json.dumps({"experiment": {}, "error": "no luck"}).encode() + b"\n"
    digest = runfile._digest(body).encode()
    store.add(failed, RUN, b"tunnelcc run 2\n%s\n%s" % (digest, body))
    (tmp_path / "store.json").write_text('{"format": 1}')
    (tmp_path / "index.txt").write_text("of the older version")
    store = Store(tmp_path)
    old, new = store.load(id_).to_dict(), plain_result.to_dict()
    assert (old.pop("tunnelcc"), old.pop("models")) == (None, None)  # nobody wrote them down
    assert old.items() <= new.items()
    assert json.dumps(store.row(id_).metrics) == json.dumps(summarise(plain_result))
    assert (store.is_done(id_, series=True), store.is_done(failed)) == (True, False)
    assert store.row(failed).error == "no luck"
    assert dict(store.damaged()) == {}
    store.clean()
    assert not (tmp_path / "index.txt").exists()


def test_a_run_without_series_has_its_metrics_and_says_how_to_get_more(tmp_path, relay_result):
    id_ = run_id(relay_result.experiment)
    store = Store(tmp_path)
    data = runfile.encode(relay_result.experiment, relay_result, series=False)
    assert len(data) < 10_000
    store.add(id_, METRICS, data)
    assert json.dumps(store.row(id_).metrics) == json.dumps(summarise(relay_result))
    assert store.experiment(id_) == relay_result.experiment
    with pytest.raises(NoSeriesError, match=r"`tunnelcc sweep --series`"):
        store.load(id_)
    assert (store.is_done(id_), store.is_done(id_, series=True)) == (True, False)
    assert dict(store.damaged()) == {}
    store.add(id_, RUN, runfile.encode(relay_result.experiment, relay_result))
    assert store.kinds() == {id_: RUN}
    assert store.load(id_).to_json() == relay_result.to_json()
    assert len(list(tmp_path.glob("runs/*/*"))) == 1


def test_a_run_that_failed_may_succeed_later(filled, plain_result):
    directory, ids = filled
    store = Store(directory)
    id_ = "cd" * 16
    error = tc.RunError("no luck")
    before = store.state()
    store.add(id_, FAILED, runfile.encode(plain_result.experiment, error))
    assert store.state() != before
    assert (store.row(id_).error, store.is_done(id_)) == ("no luck", False)
    assert store.kinds() == {**dict.fromkeys(ids, RUN), id_: FAILED}
    store.add(id_, RUN, runfile.encode(plain_result.experiment, plain_result))
    assert (store.row(id_).error, store.is_done(id_)) == ("", True)
    store.remove([id_])
    assert store.row(id_) is None


def test_metrics_of_another_version_are_computed_again(filled, tmp_path, plain_result, monkeypatch):
    directory, ids = filled
    data = runfile.encode(plain_result.experiment, plain_result, series=False)
    Store(tmp_path / "other").add(ids[0], METRICS, data)
    monkeypatch.setattr(runfile, "summary_version", lambda: "another")
    monkeypatch.setattr(runfile, "summarise", lambda result: {"goodput": 1.0})
    assert Store(directory).row(ids[0]).metrics == {"goodput": 1.0}
    # Nobody can compute them without the series.
    assert Store(tmp_path / "other").row(ids[0]).metrics["goodput"] > 5e6


def test_rows_of_what_is_there(filled):
    directory, ids = filled
    store = Store(directory)
    assert store.row(ids[0]).metrics["goodput"] > 5e6
    assert store.row("ab" * 16) is None
    _file(directory, ids[1]).write_bytes(b"")
    assert [store.row(id_) is None for id_ in ids] == [False, True]


@pytest.mark.parametrize("damage", ["truncate", "alter", "empty"])
def test_a_damaged_run_is_not_there(filled, damage):
    directory, ids = filled
    file = _file(directory, ids[0])
    whole = file.read_bytes()
    middle = len(whole) // 2
    file.write_bytes(
        {
            "truncate": whole[:middle],
            "alter": whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :],
            "empty": b"",
        }[damage]
    )
    store = Store(directory)
    # The middle is in the measurements, so that its metrics are still known.
    assert (store.row(ids[0]) is None) == (damage != "alter")
    assert store.row(ids[1]) is not None
    assert [id_ for id_, _ in store.damaged()] == [ids[0]]
    with pytest.raises(StoreError, match="is damaged"):
        store.load(ids[0])


@pytest.mark.parametrize("begin", [b"", b"tunnelcc run 3\n", b"head"])
def test_a_file_without_end_is_refused_before_it_is_read(filled, begin):
    """It takes no place on the disk, and would take all of the memory."""
    directory, ids = filled
    file = _file(directory, ids[0])
    if begin == b"head":  # its first lines are right
        begin = b"\n".join(file.read_bytes().split(b"\n")[:2]) + b"\n{" + b" " * 20_000
    file.write_bytes(begin)
    os.truncate(file, 100 << 30)
    store = Store(directory)
    assert store.row(ids[0]) is None
    assert [id_ for id_, _ in store.damaged()] == [ids[0]]
    with pytest.raises(StoreError, match="is damaged"):
        store.load(ids[0])
    store.update_sweep("s", lambda _: RECORD)
    os.truncate(directory / "sweeps" / "s.json", 100 << 30)
    with pytest.raises(StoreError, match="more than 256 MiB"):
        store.sweep("s")


def _forged(file, **changes):
    """Return a run's file with another head, whose checksum is right. NAME_KEY: of a table NAME."""
    first, second, head, body = file.read_bytes().split(b"\n", 3)
    table = json.loads(head)
    for name, value in changes.items():
        (table["metrics"] if name in table["metrics"] else table)[name] = value
    text = json.dumps(table).encode()
    digest = runfile._digest(text).encode()
    return b"\n".join((first, digest + b" " + second.split()[1], text, body))


@pytest.mark.parametrize(
    "changes",
    [
        {"metrics": 7}, {"metrics": ["x"]}, {"goodput": "x"}, {"goodput": [1, 2]},
        {"queue_delay_p50": {"a": 1}}, {"flow_cc": "cubic"}, {"flow_cc": [7]}, {"flow_goodput": 7},
        {"flow_goodput": ["x"]}, {"unknown": {"a": 1}}, {"error": 7}, {"error": ["x"]},
    ],
)  # fmt: skip
def test_a_run_with_right_checksums_and_odd_values_is_damaged(filled, changes, run):
    directory, ids = filled
    file = _file(directory, ids[0])
    if changes == {"unknown": {"a": 1}}:
        changes = {"metrics": {**Store(directory).row(ids[0]).metrics, **changes}}
    file.write_bytes(_forged(file, **changes))
    store = Store(directory)
    assert store.row(ids[0]) is None
    assert run("store", "show", ids[0], "--store", directory)[0] == 1
    assert run("store", "ls", "--store", directory)[0] == 0


def test_a_run_under_the_name_of_another_is_told(filled):
    directory, ids = filled
    assert dict(Store(directory).damaged()) == {}
    shutil.copy(_file(directory, ids[0]), _file(directory, ids[1]))
    ((id_, told),) = Store(directory).damaged()
    assert id_ == ids[1]
    assert "another experiment" in told


def test_a_repeated_run_replaces_its_damaged_files(filled, plain_result, relay_result):
    directory, ids = filled
    store = Store(directory)
    for damaged in (ids[0], ids[1]):
        file = _file(directory, damaged)
        file.write_bytes(file.read_bytes()[:100])
    data = runfile.encode(plain_result.experiment, plain_result, series=False)
    store.add(ids[0], METRICS, data)
    store.add(ids[1], FAILED, runfile.encode(relay_result.experiment, tc.RunError("no luck")))
    assert dict(store.damaged()) == {}
    assert store.kinds() == {ids[0]: METRICS, ids[1]: FAILED}
    assert (store.is_done(ids[0]), store.row(ids[1]).error) == (True, "no luck")
    # A time-out of a repetition with series takes nothing away.
    store.add(ids[0], FAILED, runfile.encode(plain_result.experiment, tc.RunError("slow")))
    assert store.is_done(ids[0])


@pytest.mark.parametrize("file", ["results/fair.py", "metrics/formulas.py", "network/tunnels.py"])
def test_metrics_are_computed_again_where_their_code_has_changed(file, monkeypatch):
    before = summary.summary_version()
    read = Path.read_bytes
    changed = Path(tc.__file__).parent / file
    monkeypatch.setattr(Path, "read_bytes", lambda it: read(it) + b"#" * (it == changed))
    assert summary.summary_version.__wrapped__() != before


def test_a_full_disk_is_told_and_leaves_nothing_half_written(filled, monkeypatch, plain_result):
    directory, ids = filled
    write = Path.write_bytes

    def full(self, data):
        write(self, data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    data = runfile.encode(plain_result.experiment, plain_result)
    with pytest.raises(StoreError) as caught:
        Store(directory).add("ab" * 16, RUN, data)
    monkeypatch.undo()
    assert "No space left on device" in str(caught.value)
    assert "are kept" in str(caught.value)
    assert sorted(Store(directory).ids()) == sorted(ids)
    assert not list(directory.glob("**/.*.tmp"))


RECORD = Record("0.1.0", "f" * 32, '"path.loss" = ["1%"]', 2, ["ab" * 16, ""], "cd" * 16)


@settings(deadline=None)
@given(place=st.integers(0, len(records.encode(RECORD)) - 1), byte=st.integers(1, 255))
def test_no_byte_of_a_sweeps_record_changes_it(place, byte):
    data = bytearray(records.encode(RECORD))
    assert records.decode(bytes(data)) == RECORD
    data[place] ^= byte
    with contextlib.suppress(runfile.DamagedFileError):
        assert records.decode(bytes(data)) == RECORD  # a tab for a space


@pytest.mark.parametrize(
    "change",
    [{"ids": []}, {"more": 1}, {"tunnelcc": ...}, {"checksum": "0" * 32}, {"checksum": ...}],
    ids=str,
)
def test_a_record_that_was_changed_is_told(tmp_path, change):
    table = {**json.loads(records.encode(RECORD)), **change}
    table = {name: value for name, value in table.items() if value is not ...}
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "sweeps" / "x.json").write_text(json.dumps(table))
    with pytest.raises(StoreError, match=r"x\.json is damaged"):
        Store(tmp_path).sweep("x")


def test_two_stores_share_a_directory(filled):
    directory, ids = filled
    first, second = Store(directory), Store(directory)
    first.remove(ids[:1])
    assert second.row(ids[0]) is None
    assert repr(second.row(ids[1])) == repr(first.row(ids[1]))


def test_a_newer_store_is_told(filled):
    directory, _ = filled
    (directory / "store.json").write_text(json.dumps({"format": 99}))
    with pytest.raises(StoreError, match=r"format 99 of a newer tunnelcc; .* up to 2$"):
        Store(directory)


@pytest.mark.parametrize("text", ["", "{}", "[]", "no JSON", '{"format": ', '{"format": "2"}'])
def test_a_store_without_version_is_told(filled, text):
    directory, ids = filled
    (directory / "store.json").write_text(text)
    with pytest.raises(StoreError, match=r"store\.json is damaged: expected") as caught:
        Store(directory)
    told = re.search(r"expected (\{.*?\});", str(caught.value)).group(1)
    (directory / "store.json").write_text(told)
    assert {*Store(directory).ids()} == {*ids}


def test_runs_are_found_by_the_beginning_of_their_id(filled):
    directory, ids = filled
    store = Store(directory)
    assert store.find(ids[0]) == store.find(ids[0][:8]) == ids[0]
    for wrong in ("", "x", "../..", "zz", "0" * 32):
        with pytest.raises(tc.ConfigError, match="the id of a run"):
            store.find(wrong)


def test_old_leftovers_are_deleted_and_new_ones_are_not(filled):
    directory, _ = filled
    old, new = directory / "runs" / ".a.run.1.tmp", directory / "runs" / ".b.run.2.tmp"
    for file in (old, new):
        file.touch()
    os.utime(old, (0, 0))
    Store(directory).clean()
    assert (old.exists(), new.exists()) == (False, True)


# Ids

EXPERIMENT = {"path": {"rtt": "40ms"}, "flows": [{"cc": "bbr"}], "tunnel": "gost-relay-ws"}
CHANGES = {
    "path.rtt": "41ms", "path.rate": "99Mbps", "path.loss": "0.1%", "path.buffer": "2bdp",
    "flows.count": 2, "cc": "cubic", "flows.cc.probe_rtt_interval": "5s", "tunnel": "none",
    "tunnel.cc": "cubic", "tunnel.copy_buffer": "64KiB", "hosts.kernel": "5.10", "seed": 2,
    "duration": "31s", "warmup": "1s", "direction": "down", "probe_interval": "50ms",
}  # fmt: skip


def test_what_changes_the_run_changes_its_id():
    ids = [run_id(scenario.build(EXPERIMENT, {}))]
    ids += [run_id(scenario.build(EXPERIMENT, {key: value})) for key, value in CHANGES.items()]
    assert len(set(ids)) == len(ids)


def test_every_tunnel_of_the_catalogue_is_another_run():
    tunnels = [None, *(tunnel_named(name) for name in catalog.names())]
    made = [
        tc.Experiment(tunnel=it, flows=[flow_carried_by(it["name"]) if it else {}])
        for it in tunnels
    ]
    assert len({run_id(it) for it in made}) == len(tunnels)


def test_how_it_is_written_does_not():
    same = [
        {},
        {"title": "x"},
        {"path.rtt": "0.04s"},
        {"path.buffer": "500000B"},
        {"flows.count": 1},
    ]
    assert len({run_id(scenario.build(EXPERIMENT, changes)) for changes in same}) == 1


def test_a_tunnel_of_ones_own_counts_by_its_contents(tmp_path):
    catalogue = Path(tc.__file__).parent / "catalog" / "tunnels" / "gost-relay-ws.toml"
    file = tmp_path / "mine.toml"
    shutil.copy(catalogue, file)
    mine = run_id(scenario.build(EXPERIMENT, {"tunnel": str(file)}))
    assert mine == run_id(scenario.build(EXPERIMENT, {}))
    text = file.read_text()
    assert "bytes = 32768" in text
    file.write_text(text.replace("bytes = 32768", "bytes = 65536", 1))
    assert run_id(scenario.build(EXPERIMENT, {"tunnel": str(file)})) != mine


def test_other_models_are_other_runs(monkeypatch):
    from tunnelcc.store import identity

    experiment = scenario.build(EXPERIMENT, {})
    before = run_id(experiment)
    monkeypatch.setattr(identity, "model_version", lambda: "0" * 32)
    assert run_id(experiment) != before


def test_a_sweep_is_good_from_any_directory(tmp_path, monkeypatch, run):
    work, elsewhere = tmp_path / "work", tmp_path / "elsewhere"
    work.mkdir()
    elsewhere.mkdir()
    shutil.copy(catalog.path_of("wireguard"), work / "mine.toml")
    (work / "rates.csv").write_text("time_s,rate_Mbps\n0,5\n0.5,4\n")
    monkeypatch.chdir(work)
    base = {"path": {"trace": "rates.csv", "rtt": "20ms"}, "duration": "1s"}
    axes = {"tunnel": ["mine.toml", "none"]}
    done = tc.sweep(base, axes, 1, name="mine", store="runs", jobs=1, progress=False)
    assert tc.open("runs/mine", series=True).identical(tc.open(work / "runs/mine", series=True))
    monkeypatch.chdir(elsewhere)
    for arguments in (["verify"], ["verify", "--delete"], ["ls"], ["ls", "mine"]):
        code, _, err = run("store", *arguments, "--store", work / "runs")
        assert (code, err) == (0, "")
    again = tc.open(work / "runs/mine", series=True)
    assert (again["error"] == "").all()
    np.testing.assert_array_equal(again["goodput"], done["goodput"])
    store = Store(work / "runs")
    loaded = store.load(str(done["run"].values.flat[0]))
    assert run_id(loaded.experiment) == done["run"].values.flat[0]
    moved = work.rename(tmp_path / "moved")
    monkeypatch.chdir(moved)
    assert run("store", "verify", "--delete", "--store", "runs")[0] == 0
    (moved / "rates.csv").write_text("time_s,rate_Mbps\n0,6\n")
    assert run("store", "verify", "--store", moved / "runs")[0] == 1
