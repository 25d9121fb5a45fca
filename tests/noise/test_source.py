"""The keystream: what it is, that nothing seeds it, and that neither threads nor forks ever share a bit of it."""

from __future__ import annotations

import copy
import ctypes
import inspect
import os
import pickle
import random
import select
import threading
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.core.errors import BadInput, Bug, NotAllowed
from sfumato.core.private import Private
from sfumato.mechanisms import Laplace
from sfumato.noise import DiscreteLaplace, SystemSource, discrete_laplace, source, system_source
from sfumato.noise.source import Keystream, Source, Words
from sfumato.testing import ScriptedSource

WIDE = DiscreteLaplace(Fraction(10**9))  # two independent draws agree once in 4e9


def test_the_keystream_is_aes_256_in_counter_mode() -> None:
    key = bytes(range(32))
    out = np.empty(70_000, dtype=np.uint64)
    Keystream(key).fill(out)
    counters = b"".join(i.to_bytes(16, "big") for i in range(35_000))
    block = Cipher(algorithms.AES256(key), modes.ECB()).encryptor()  # counter mode, spelt out
    assert out.tobytes() == block.update(counters)


def test_bits_and_words_continue_one_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    key = os.urandom(32)
    monkeypatch.setattr(os, "urandom", lambda n: key[:n])
    one, whole = SystemSource(), Keystream(key)
    first = one.words(10)
    expected = np.empty(10, dtype=np.uint64)
    whole.fill(expected)
    assert first.tolist() == expected.tolist()
    assert one.bits(64) == int.from_bytes(whole.take(8), "little")


def test_a_key_is_dropped_after_a_gibibyte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_REKEY_AFTER", 1 << 12)
    one = SystemSource()
    keys = set()
    for _ in range(10):
        one.words(300)
        keys.add(one._stream)
    assert len(keys) >= 5


def test_a_gibibyte_is_well_before_the_counter_repeats() -> None:
    assert source._REKEY_AFTER <= 1 << 30


def test_nothing_seeds_it() -> None:
    assert list(inspect.signature(SystemSource).parameters) == []
    assert list(inspect.signature(system_source).parameters) == []
    assert not {"seed", "key", "state"} & set(inspect.signature(discrete_laplace).parameters)
    draws = []
    for _ in range(2):
        np.random.seed(7)
        random.seed(7)
        draws.append(discrete_laplace(10**9, size=100).tolist())
        draws.append([discrete_laplace(10**9) for _ in range(100)])
    assert len({tuple(each) for each in draws}) == 4


def test_two_sources_of_one_process_differ() -> None:
    assert SystemSource().words(4).tolist() != SystemSource().words(4).tolist()


@pytest.mark.parametrize("copying", [copy.copy, copy.deepcopy, pickle.dumps])
def test_it_cannot_be_copied(copying: Callable[[object], object]) -> None:
    with pytest.raises(Bug, match="copied"):
        copying(SystemSource())


def test_below_is_uniform_and_within_bounds() -> None:
    """False-alarm rate below 1e-9: six counts, each within 6.6 standard deviations."""
    stream = SystemSource()
    counts = np.bincount([stream.below(6) for _ in range(30_000)], minlength=6)
    assert counts.size == 6
    assert np.abs(counts - 5000).max() < 6.6 * (30_000 * 5 / 36) ** 0.5
    assert stream.below(1) == 0
    assert 0 <= stream.below(10**40) < 10**40


def test_below_redraws_what_is_too_large() -> None:
    """Four leading bits at a time: 15, 10 and 12 are refused, 9 is taken."""
    script = ScriptedSource([15 << 60, 10 << 60, 12 << 60, 9 << 60])
    assert script.below(10) == 9
    assert script.left == 0
    with pytest.raises(BadInput):
        script.below(0)


def test_bits_are_balanced() -> None:
    """False-alarm rate below 1e-9: 64 positions, each within 7 standard deviations of half."""
    words = SystemSource().words(100_000)
    for i in range(64):
        ones = int((words >> np.uint64(i) & np.uint64(1)).sum())
        assert abs(ones - 50_000) < 7 * 158.2
    assert all(0 <= SystemSource().bits(n) < 1 << n for n in (1, 7, 8, 9, 64, 65, 1000))
    assert len({SystemSource().bits(256) for _ in range(100)}) == 100


# ── threads ──────────────────────────────────────────────────────────────────


def test_threads_never_draw_the_same_words() -> None:
    stream = SystemSource()
    found: list[list[int]] = []

    def draw() -> None:
        mine = []
        for _ in range(200):
            mine += stream.words(16).tolist()
            mine.append(stream.bits(64))
        found.append(mine)

    run_threads(draw)
    words = [word for mine in found for word in mine]
    assert len(words) == 8 * 200 * 17
    assert len(set(words)) == len(words)  # a repeat by chance: 4e-11


def test_threads_never_draw_the_same_noise() -> None:
    stream, law = SystemSource(), DiscreteLaplace(Fraction(4 * 10**15))
    found: list[list[int]] = []

    def draw() -> None:
        found.append([law.sample(stream) for _ in range(500)])

    run_threads(draw)
    values = [value for mine in found for value in mine]
    assert len(values) == 8 * 500
    assert len(set(values)) == len(values)  # a repeat by chance: 5e-10


def run_threads(work: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ── forks ────────────────────────────────────────────────────────────────────


def fork_by_python() -> int:
    return os.fork()


def fork_unseen() -> int:
    """A fork made by C code, which runs none of Python's hooks."""
    return int(ctypes.PyDLL(None).fork())


def in_child(work: Callable[[], object], fork: Callable[[], int]) -> str:
    """What `work` gives in a forked child."""
    reading, writing = os.pipe()
    child = fork()
    if child == 0:
        try:
            os.write(writing, repr(work()).encode())
        finally:
            os._exit(0)
    os.close(writing)
    ready, _, _ = select.select([reading], [], [], 30)
    assert ready, "the child said nothing"
    answer = b""
    while part := os.read(reading, 1 << 16):
        answer += part
    os.close(reading)
    os.waitpid(child, 0)
    return answer.decode()


def shared(stream: SystemSource, work: Callable[[], object], fork: Callable[[], int]) -> bool:
    """Whether two children and their parent draw anything alike."""
    for _ in range(120):
        WIDE.sample(stream)  # enough for a block drawn ahead
    stream.bits(64)  # and for a chunk of keystream drawn ahead
    assert stream._ready[WIDE]
    assert stream._chunk
    seen = [in_child(work, fork), in_child(work, fork), repr(work())]
    return len(set(seen)) < 3


def works(stream: SystemSource) -> dict[str, Callable[[], object]]:
    return {
        "single draws": lambda: [WIDE.sample(stream) for _ in range(5)],
        "a first single draw": lambda: DiscreteLaplace(Fraction(10**15)).sample(stream),
        "an array": lambda: WIDE.sample(stream, 64).tolist(),
        "words": lambda: stream.words(4).tolist(),
        "bits": lambda: stream.bits(128),
    }


@pytest.mark.parametrize("kind", ["single draws", "a first single draw", "an array", "words", "bits"])
@pytest.mark.parametrize("fork", [fork_by_python, fork_unseen])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_children_and_parent_draw_different_noise(kind: str, fork: Callable[[], int]) -> None:
    stream = SystemSource()
    assert not shared(stream, works(stream)[kind], fork)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_source_of_the_process_is_safe_too() -> None:
    """Through the public door: a block of single draws, then two children."""
    for _ in range(120):
        discrete_laplace(10**9)

    def work() -> object:
        return [discrete_laplace(10**9) for _ in range(5)], discrete_laplace(10**9, size=64).tolist()

    assert len({in_child(work, fork_by_python), in_child(work, fork_by_python), repr(work())}) == 3


@pytest.mark.parametrize("kind", ["single draws", "a first single draw", "an array", "words", "bits"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_source_that_forgets_to_reset_is_noticed(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sabotage: without the reset, children repeat their parent."""
    stream = SystemSource()
    monkeypatch.setattr(SystemSource, "_reset", lambda self: None)
    assert shared(stream, works(stream)[kind], fork_by_python)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_hook_alone_is_enough_for_a_fork_by_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A child could be given its grandparent's process number; `fork_unseen` above shows that the number alone works too."""
    stream = SystemSource()
    monkeypatch.setattr(SystemSource, "_enter", lambda self: None)
    assert not shared(stream, works(stream)["single draws"], fork_by_python)
    assert shared(stream, works(stream)["single draws"], fork_unseen)


def test_a_child_forked_while_a_thread_draws_does_not_hang() -> None:
    """The lock that another thread held at the fork is not the child's lock."""
    stream = SystemSource()
    stream._lock.acquire()
    try:
        done: list[str] = []
        forking = threading.Thread(target=lambda: done.append(in_child(lambda: stream.bits(8) >= 0, fork_by_python)))
        forking.start()
        forking.join(40)
        assert done == ["True"]
    finally:
        stream._lock.release()


# ── the scripted source of tests ─────────────────────────────────────────────


def test_a_script_is_read_like_a_binary_expansion() -> None:
    script = ScriptedSource([0xF0F0 << 48, 1 << 63, 5])
    assert script.bits(8) == 0xF0
    assert script.bits(65) == (1 << 63 << 64 | 5) >> 63
    with pytest.raises(BadInput, match="ran out"):
        script.bits(1)


def test_a_scripted_stream_repeats_and_a_script_precedes_it() -> None:
    one, two = (ScriptedSource.stream(b"a label") for _ in range(2))
    assert one.words(100).tolist() == two.words(100).tolist()
    assert ScriptedSource.stream(b"another").words(4).tolist() != ScriptedSource.stream(b"a label").words(4).tolist()
    mixed = ScriptedSource([1, 2, 3], then=b"a label").words(5).tolist()
    assert mixed == [1, 2, 3, *ScriptedSource.stream(b"a label").words(2).tolist()]
    with pytest.raises(BadInput, match="64 bits"):
        ScriptedSource([1 << 64])


@pytest.mark.parametrize("told", [True, False])
def test_a_source_of_ones_own_is_predictable_until_it_says_otherwise(told: bool) -> None:
    """Whoever forgets to say so gets no private value: a seeded source that is silent would undo the noise."""

    class Seeded(Source):
        def fill(self, out: Words) -> None:
            out[:] = np.random.default_rng(7).integers(0, 2**64, out.size, dtype=np.uint64)

        def bits(self, n: int) -> int:
            return random.Random(7).getrandbits(n)

    class Said(Seeded):
        predictable = False

    mechanism = Laplace(1)
    if told:
        assert isinstance(mechanism.release(Private(3), 1, source=Said()).value, int)
        return
    with pytest.raises(NotAllowed, match="SF015"):
        mechanism.release(Private(3), 1, source=Seeded())
    assert isinstance(mechanism.release(3, 1, source=Seeded()).value, int)
    assert not system_source().predictable
