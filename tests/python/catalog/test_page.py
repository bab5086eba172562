# SPDX-License-Identifier: GPL-2.0-only
"""tunnelcc/catalog/README.md: its files run, and its tables have every key and layer."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import tunnelcc as tc
from helpers import tables
from tunnelcc import catalog
from tunnelcc.catalog.layers import PACKET_LAYERS, STREAM_LAYERS
from tunnelcc.schema import KeyInfo, Model, keys_of, models_in, tag_of

PAGE = (catalog.DIRECTORY.parent / "README.md").read_text()
FILES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
#: Keys that every file or every table has, and which the text tells of.
TOLD = ("name", "kind", "label", "source")


def _infos(model: type[Model], prefix: str = "") -> Iterator[KeyInfo]:
    for info in keys_of(model, prefix):
        first = info.key.removeprefix(prefix).partition(".")[0]
        is_of_layer = first in ("to_server", "to_client") and not info.key.endswith(".layer")
        if info.key.rpartition(".")[2] not in TOLD and first != "modes" and not is_of_layer:
            yield info


def _keys() -> dict[str, tuple[list[str], KeyInfo]]:
    """Key → the kinds that have it, and what the schema says; of twins the first."""
    keys: dict[str, tuple[list[str], KeyInfo]] = {}
    for kind in catalog.KINDS:
        entry = catalog.entry_class(kind)
        infos = list(_infos(entry))
        if "modes" in entry.model_fields:
            (mode,) = models_in(entry.model_fields["modes"].annotation)
            infos += [KeyInfo(f"modes.NAME.{name}", None, "", "") for name in mode.model_fields]
        for info in infos:
            twin = info.key.replace("to_client", "to_server").replace("receiving", "sending")
            if info.key.rpartition(".")[2] in TOLD or (twin != info.key and twin in keys):
                continue
            # cpu of relays and cpu of packets, …, differ in what is below them.
            keys.setdefault(info.key, ([], info))[0].append(kind)
    return keys


def _default(info: KeyInfo) -> str:
    value = info.default
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else "[]" if value in ((), []) else str(value)


def _facts(text: str) -> set[str]:
    """Numbers, names in quotes and names in code of a text."""
    return set(re.findall(r"(?<=[`'])[^`', ]+(?=[`'])|\d+", text))


KEYS = _keys()


def test_every_key_is_on_the_page_and_no_other():
    (rows,) = [table for table in tables(PAGE) if "key" in table[0]]
    assert sorted(row["key"].strip("`") for row in rows) == sorted(KEYS)
    for row in rows:
        kinds, info = KEYS[row["key"].strip("`")]
        named = set(row["kinds"].split(", "))
        assert named == set(kinds) or (named == {"all"} and len(kinds) == len(catalog.KINDS))
        assert row["default"].strip("`") == _default(info)
        assert _facts(row["values"]) == _facts(info.expected), info.key
        assert row["meaning"]


def _check_layer(row: dict[str, str], layer: type[Model]) -> None:
    infos = [info for info in keys_of(layer) if info.key not in ("layer", "label", "source")]
    expected = (_facts(f"`{info.key}` {info.expected}") for info in infos)
    assert _facts(row["parameters"]) >= set().union(*expected)
    assert all(_default(info) in row["parameters"] for info in infos)


def test_every_layer_is_on_the_page_and_no_other():
    (rows,) = [table for table in tables(PAGE) if "where" in table[0]]
    layers = {tag_of(it)[1]: it for it in PACKET_LAYERS}
    assert sorted(row["layer"].strip("`") for row in rows) == sorted(layers)
    for row in rows:
        layer = layers[row["layer"].strip("`")]
        _check_layer(row, layer)
        assert row["where"] == layer.place.value


def test_every_layer_of_streams_is_on_the_page_and_no_other():
    (rows,) = [table for table in tables(PAGE) if {"layer", "meaning"} <= table[0].keys()]
    layers = {tag_of(it)[1]: it for it in STREAM_LAYERS}
    of_packets = {tag_of(it)[1] for it in PACKET_LAYERS}
    own = {name: layer for name, layer in layers.items() if name not in of_packets}
    assert sorted(row["layer"].strip("`") for row in rows) == sorted(own)
    for row in rows:
        _check_layer(row, own[row["layer"].strip("`")])
    section = PAGE.partition("## Layers of streams")[2].partition("\n## ")[0]
    assert all(f"`{name}`" in section for name in layers)


def test_every_label_is_on_the_page():
    for label in catalog.LABELS:
        assert f"`{label}`" in PAGE


def test_there_is_a_file_of_each_kind():
    assert [re.findall('(?m)^kind = "(.*)"', text)[0] for text in FILES] == list(catalog.KINDS)


@pytest.mark.parametrize("text", FILES, ids=catalog.KINDS)
def test_its_files_run(tmp_path, text):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    keys = {"flows": {"bytes": "50kB"}, "duration": "5s"}
    result = tc.run(tc.Experiment(tunnel=str(file), **keys))
    assert result.flows[0].total_bytes == 50_000


@pytest.mark.parametrize("text", FILES, ids=catalog.KINDS)
def test_its_files_have_no_table_too_many(tmp_path, text):
    tables = re.split(r"\n(?=\[)", text)
    assert len(tables) >= 5
    for index in range(1, len(tables)):
        file = tmp_path / f"less{index}.toml"
        file.write_text("\n".join(tables[:index] + tables[index + 1 :]))
        with pytest.raises(tc.ConfigError):
            tc.Experiment(tunnel=str(file))


def test_show_tells_where_to_copy_from(run):
    code, out, _ = run("show", "tunnel", "wireguard")
    assert code == 0
    assert str(catalog.DIRECTORY / "wireguard.toml") in out.replace("\n", "")
