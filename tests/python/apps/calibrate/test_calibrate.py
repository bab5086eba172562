# SPDX-License-Identifier: GPL-2.0-only
"""`tunnelcc calibrate-host`: what counts as the cost of an operation, and the profile of it."""

from __future__ import annotations

import ctypes.util
import hmac
import importlib
import subprocess
import sys

import pytest

from tunnelcc.apps.calibrate import calibrate, compressors, libcrypto, timing
from tunnelcc.hosts import costs

QUICK = (
    "from tunnelcc.apps.calibrate import timing; timing._BATCHES, timing._BATCH = 21, 1e5; "
    "from tunnelcc import cli; cli.main(['calibrate-host', '--output', {path!r}])"
)


def _taking(per_call, per_byte, disturbed=False):
    """Calls that say they took so long, every third batch ten times as long."""
    runs = iter(range(10**6))

    def sized(size):
        def calls(count):
            slow = 10 if disturbed and next(runs) % 3 == 0 else 1
            return slow * count * (per_call + per_byte * size)

        return calls

    return sized


def test_cost_is_slope_and_intercept_less_what_nothing_takes():
    nothing = _taking(40, 0)(0)
    found = timing.measure(_taking(1040, 2.5), nothing)
    assert found.per_call == pytest.approx(1000)
    assert found.per_byte == pytest.approx(2.5)
    assert found.spread == pytest.approx(0)


def test_disturbances_do_not_count():
    found = timing.measure(_taking(1040, 2.5, disturbed=True), _taking(40, 0)(0))
    assert found.per_call == pytest.approx(1000)
    assert found.per_byte == pytest.approx(2.5)


def test_costs_are_never_negative():
    found = timing.measure(_taking(10, -0.001), _taking(40, 0)(0))
    assert (found.per_call, found.per_byte) == (0, 0)


def test_preparations_do_not_count_and_come_before_every_128_calls():
    prepared, called = [], []
    calls = timing.repeated(lambda: called.append(1), lambda: prepared.append(len(called)))
    assert calls(300) > 0
    assert prepared == [0, 128, 256]
    assert len(called) == 300


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory):
    """A profile of this machine, from short batches, in a process of its own (it forks)."""
    path = tmp_path_factory.mktemp("host") / "mine.toml"
    command = [sys.executable, "-c", QUICK.format(path=str(path))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout, costs.load(str(path))


def test_the_profile_of_this_machine_prices_every_operation(measured):
    output, profile = measured
    for operation in costs.OPERATIONS:
        assert profile.operation(operation).label == "measured"
    for operation in profile.operations:
        assert operation in output
    assert {"syscall", "udp-send", "aes-256-cbc-encrypt", "zlib-9-compress"} <= set(
        profile.operations
    )


def test_costs_are_in_the_order_that_any_machine_has(measured):
    _, profile = measured
    cost = {name: costs.of(profile, [name])(1408) for name in profile.operations}
    assert 10 < cost["syscall"] < cost["udp-send"] < 100_000
    assert cost["syscall"] < cost["lz4-compress"] < cost["zlib-9-compress"]
    assert cost["lz4-decompress"] < cost["lz4-compress"]
    assert cost["aes-128-cbc-decrypt"] < cost["aes-128-cbc-encrypt"]  # blocks in parallel


def test_ciphers_and_codes_say_which_library_they_are_of(measured):
    _, profile = measured
    means = f"{libcrypto.load().version}, context kept"
    for name in ("aes-256-gcm-encrypt", "chacha20-poly1305-decrypt", "hmac-sha1"):
        assert means in profile.operations[name].source
    assert means not in profile.operations["syscall"].source


@pytest.fixture
def library():
    found = libcrypto.load()
    if found is None:
        pytest.skip("no libcrypto")
    return found


def _reference(name, data):
    """What Python's packages make of ``data``, with the key and IV that are timed."""
    ciphers = importlib.import_module("cryptography.hazmat.primitives.ciphers")
    if name.endswith("cbc"):
        padding = importlib.import_module("cryptography.hazmat.primitives.padding")
        padder = padding.PKCS7(128).padder()
        key = ciphers.algorithms.AES(bytes(int(name[4:7]) // 8))
        cipher = ciphers.Cipher(key, ciphers.modes.CBC(bytes(16))).encryptor()
        return cipher.update(padder.update(data) + padder.finalize()) + cipher.finalize()
    aead = importlib.import_module("cryptography.hazmat.primitives.ciphers.aead")
    if name.startswith("chacha"):
        return aead.ChaCha20Poly1305(bytes(32)).encrypt(bytes(12), data, None)
    return aead.AESGCM(bytes(int(name[4:7]) // 8)).encrypt(bytes(12), data, None)


@pytest.mark.parametrize("size", [0, 1, 128, 1399, 1408])
@pytest.mark.parametrize("name", libcrypto.CIPHERS)
def test_what_is_timed_encrypts_and_decrypts_packet_after_packet(library, name, size):
    data = bytes(range(256)) * 6
    steps, room = library.encrypting(name, data[:size])
    for _ in range(3):
        library.run(steps)
        assert room.raw == _reference(name, data[:size])
    steps, back = library.decrypting(name, room.raw)
    for _ in range(3):
        library.run(steps)
        assert back.raw[:size] == data[:size]


@pytest.mark.parametrize("name", ["aes-128-gcm", "chacha20-poly1305"])
def test_a_step_that_fails_is_told(library, name):
    steps, room = library.encrypting(name, bytes(128))
    library.run(steps)
    forged = bytes([room.raw[0] ^ 1]) + room.raw[1:]
    with pytest.raises(OSError, match="Final"):
        library.run(library.decrypting(name, forged)[0])


@pytest.mark.parametrize("way", ["authenticating", "rekeying", "authenticating_once"])
@pytest.mark.parametrize("digest", ["sha1", "sha256"])
def test_what_is_timed_authenticates_packet_after_packet(library, digest, way):
    if way == "rekeying" and not library.has("EVP_MAC_init"):
        pytest.skip("older than OpenSSL 3")
    key, data = bytes(range(20)), bytes(range(128))
    steps, room = getattr(library, way)(digest, data, key)
    code = hmac.digest(key, data, digest)
    for _ in range(3):
        library.run(steps)
        assert room.raw[: len(code)] == code


def test_a_new_context_encrypts_as_a_kept_one(library):
    new, kept = library.new_context()
    for _ in range(3):
        library.run(new)
        library.run(kept)


@pytest.mark.parametrize("name", libcrypto.CIPHERS)
def test_what_is_subtracted_has_as_many_calls_with_the_same_arguments(library, name):
    steps, _ = library.encrypting(name, bytes(128))
    idle = libcrypto._idle(steps)
    assert [arguments for _, arguments in idle] == [arguments for _, arguments in steps]
    library.run(idle)


def test_contexts_made_for_each_packet_cost_more_than_kept_ones(measured, library):
    _, profile = measured
    assert profile.operations["cipher-init"].per_call > 0
    assert profile.operations["hmac-init"].per_call > 0


@pytest.mark.parametrize("found", [None, "c"])
def test_without_libcrypto_it_says_what_to_install(monkeypatch, run, found):
    name = ctypes.util.find_library(found) if found else None
    monkeypatch.setattr(ctypes.util, "find_library", lambda library: name)
    libcrypto.load.cache_clear()
    try:
        code, _, err = run("calibrate-host")
    finally:
        libcrypto.load.cache_clear()
    assert code == 1
    assert "needs libcrypto" in err
    assert "apt install libssl3" in err


def test_without_lz4_it_says_what_to_install(monkeypatch, run):
    monkeypatch.setitem(sys.modules, "lz4.block._block", None)
    compressors.load.cache_clear()
    code, _, err = run("calibrate-host")
    assert code == 1
    assert "needs lz4: pip install lz4" in err


def test_other_files_are_refused_before_measuring(run):
    code, _, err = run("calibrate-host", "--output", "mine.json")
    assert code == 2
    assert "ends in .toml" in err


def test_a_file_that_cannot_be_written_is_told_before_measuring(tmp_path, monkeypatch, run):
    monkeypatch.setattr(calibrate, "run", lambda: pytest.fail("it measures"))
    code, _, err = run("calibrate-host", "--output", tmp_path / "nowhere" / "mine.toml")
    assert code == 2
    assert "No such file" in err


def test_unsteady_costs_are_told_in_the_file_and_in_the_output(tmp_path, monkeypatch, run):
    found = {
        "tcp-send": timing.Measurement(2000, 0, 0.91),
        "tcp-receive": timing.Measurement(1000, 0.3, 0.02),
    }
    spreads = {name: it.spread for name, it in found.items()}
    monkeypatch.setattr(calibrate, "run", lambda: (calibrate.profile(found), spreads))
    path = tmp_path / "mine.toml"
    _, out, err = run("calibrate-host", "--output", path)
    assert err.startswith("measuring")
    operations = costs.load(str(path)).operations
    assert "unsteady: the median batch took 91% longer" in operations["tcp-send"].source
    assert "unsteady" not in operations["tcp-receive"].source
    output = " ".join(out.split())
    assert "Warning: tcp-send is unsteady" in output
    assert "Warning: tcp-receive" not in output


def test_a_profile_that_cannot_be_written_is_told(tmp_path):
    profile = calibrate.profile({})
    with pytest.raises(Exception, match=r"mine\.toml: No such file"):
        calibrate.write(profile, tmp_path / "nowhere" / "mine.toml")
