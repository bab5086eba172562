# SPDX-License-Identifier: GPL-2.0-only
"""Every kind of layer goes to a worker, as sweeps, comparisons and searches send it."""

from __future__ import annotations

import tunnelcc as tc
from tunnelcc import catalog
from tunnelcc.catalog.layers import PACKET_LAYERS, STREAM_LAYERS
from tunnelcc.schema import tag_of
from tunnelcc.schema.toml import read_toml, write_toml


def _built_in():
    """Return kind of layer → the layer, and a tunnel of the catalogue that has it."""
    found = {}
    for name in catalog.names():
        if name == "none":
            continue
        entry = catalog.load(name)
        for layer in (*entry.stream_layers(True), *entry.stream_layers(False)):
            found.setdefault(type(layer), (layer, {"name": name}))
        for mode, its in getattr(entry, "modes", {}).items():
            for layer in its.layers:
                found.setdefault(type(layer), (layer, {"name": name, "mode": mode}))
    return found


def test_every_kind_of_layer_goes_through_a_worker(tmp_path):
    built_in = _built_in()
    assert set(PACKET_LAYERS) <= built_in.keys()
    tunnels = [built_in[kind][1] for kind in PACKET_LAYERS]
    known = {tag_of(kind)[1]: layer for kind, (layer, _) in built_in.items()}
    relay = read_toml(catalog.path_of("gost-relay-ws"))
    for kind in STREAM_LAYERS:
        tag = tag_of(kind)[1]
        keys = known[tag].model_dump(mode="json", exclude_unset=True)
        layer = {key: value for key, value in keys.items() if key in kind.model_fields}
        layer |= {"label": "inferred", "source": "a test"}
        file = tmp_path / f"{tag}.toml"
        file.write_text(write_toml({**relay, "to_server": [layer], "to_client": [layer]}))
        tunnels.append({"name": str(file)})
    experiments = [tc.Experiment(tunnel=it, duration="300ms") for it in tunnels]
    results = tc.run_many(experiments, jobs=2, progress=False)
    wrong = [
        (str(tunnel), str(result))
        for tunnel, result in zip(tunnels, results, strict=True)
        if isinstance(result, tc.RunError) or not result.goodput > 0
    ]
    assert wrong == []
