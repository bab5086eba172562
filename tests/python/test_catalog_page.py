# SPDX-License-Identifier: GPL-2.0-only
"""tunnelcc/catalog/README.md: its files run, and its tables have every key and layer."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

import tunnelcc as tc
from tunnelcc import catalog
from tunnelcc.catalog.layers import LAYERS, PacketLayer
from tunnelcc.schema import KeyInfo, Model, keys_of, models_in

PAGE = (catalog.DIRECTORY.parent / "README.md").read_text()
FILES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
#: Keys that every file or every table has, and which the text tells of.
TOLD = ("name", "kind", "label", "source")


def _infos(model: type[Model], prefix: str = "") -> Iterator[KeyInfo]:
    for info in keys_of(model, prefix):
        first = info.key.removeprefix(prefix).partition(".")[0]
        if info.key.rpartition(".")[2] not in TOLD and first != "modes":
            yield info


def _keys() -> dict[str, tuple[str, list[str], KeyInfo]]:
    """Key → itself, the kinds that have it, and what the schema says; of twins the first."""
    keys: dict[str, tuple[str, list[str], KeyInfo]] = {}
    for kind, entry in catalog.KINDS.items():
        infos = list(_infos(entry))
        if "modes" in entry.model_fields:
            (mode,) = models_in(entry.model_fields["modes"].annotation)
            infos += [KeyInfo(f"modes.NAME.{name}", None, "", "") for name in mode.model_fields]
        for info in infos:
            twin = info.key.replace("to_client", "to_server").replace("receiving", "sending")
            if info.key.rpartition(".")[2] in TOLD or (twin != info.key and twin in keys):
                continue
            # cpu of relays and cpu of packets, …, differ in what is below them.
            keys.setdefault(info.key, (info.key, [], info))[1].append(kind)
    return keys


def _values(key: str, info: KeyInfo) -> str:
    if key.startswith("modes.NAME."):
        return "some text" if key.endswith("summary") else "a list of layers"
    return info.expected


def row(key: str, kinds: list[str], info: KeyInfo) -> str:
    """The row of a key, without what it means."""
    of = "all" if len(kinds) == len(catalog.KINDS) else ", ".join(kinds)
    default = "" if info.default is None else f"`{_toml(info.default)}`"
    return f"| `{key}` | {of} | {_values(key, info)} | {default} |".replace("  |", " |")


def _toml(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "[]" if value in ((), []) else str(value)


def layer_row(name: str) -> str:
    """The row of a layer of packets."""
    layer: type[PacketLayer] = LAYERS[name]
    parameters = "; ".join(
        f"`{info.key}`: {info.expected}"
        + ("" if info.default is None else f", by default {_toml(info.default)}")
        for info in keys_of(layer)
    )
    return f"| `{name}` | {layer.place.value} | {parameters} |".replace("  |", " |")


KEYS = _keys()
LAYERS_OF_PAGE = sorted(LAYERS)


def test_every_key_is_on_the_page_and_no_other():
    table = PAGE[PAGE.index("| key |") :].partition("\n\n")[0]
    told = table.splitlines()[2:]
    rows = {row(*values) for values in KEYS.values()}
    meant = {line: line.removesuffix(" |").rpartition("| ")[2] for line in told}
    assert all(meant.values())
    assert {line.removesuffix(f" {text} |") for line, text in meant.items()} == rows


def test_every_layer_is_on_the_page():
    lines = PAGE.splitlines()
    for name in LAYERS_OF_PAGE:
        assert layer_row(name) in lines
    assert sum(" | in " in line for line in lines) == len(LAYERS)


def test_every_label_is_on_the_page():
    for label in catalog.LABELS:
        assert f"`{label}`" in PAGE


def test_there_is_a_file_of_each_kind():
    assert [re.findall('(?m)^kind = "(.*)"', text)[0] for text in FILES] == list(catalog.KINDS)


@pytest.mark.parametrize("text", FILES, ids=list(catalog.KINDS))
def test_its_files_run(tmp_path, text):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    keys = {"flows": {"bytes": "50kB"}, "duration": "5s"}
    result = tc.run(tc.Experiment(tunnel=str(file), **keys))
    assert result.raw.flows[0].total_bytes == 50_000


@pytest.mark.parametrize("text", FILES, ids=list(catalog.KINDS))
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
