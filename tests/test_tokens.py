"""Counts are exact for the tokenizer asked, and a cut is the longest head of whole characters that fits."""

import functools
import hashlib
import os
import pickle
import subprocess
import sys
import threading
from collections import UserDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import llama_index.core
import numpy as np
import pytest
import regex
import tiktoken
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

from packline import ConfigError, ContextBuilder, TokenCounter, token_counter, tokens
from packline.tokens import Counter, approximate_tokens
from packline.vocabulary import _BUNDLED, _load

BUNDLE = Path(llama_index.core.__file__).parent / "_static" / "tiktoken_cache"
FAMILY = "👨‍👩‍👧‍👦"
SURROGATES = "\ud83d\ude00"  # two, unjoined


def word_tokenizer() -> Tokenizer:
    words = ["[UNK]", "[CLS]", "[SEP]", "[PAD]", "pandas", "reads", "csv"]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    return tokenizer


def bpe_tokenizer() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["pandas reads csv"] * 10, trainer)
    return tokenizer


class Everything:
    """A callable object."""

    def __call__(self, text: str) -> list[str]:
        return text.split()


# --- what counts ---


def test_a_name_has_one_counter_which_all_share():
    counters = [token_counter(name) for name in (None, "o200k_base", "gpt-4o")]

    assert all(counter is counters[0] for counter in counters)
    assert ContextBuilder().counter is ContextBuilder(token_counter="o200k_base").counter is counters[0]
    assert token_counter("approximate") is token_counter("approximate")
    assert token_counter("cl100k_base") is not counters[0]


def test_many_threads_that_ask_at_once_get_one_counter(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(tokens, "_SHARED", {})
    together = threading.Barrier(8)
    make = tokens._of_encoding

    def slowly(encoding: tiktoken.Encoding) -> tokens.Counter:
        threading.Event().wait(0.01)  # the others come meanwhile
        return make(encoding)

    monkeypatch.setattr(tokens, "_of_encoding", slowly)

    def ask(_: int) -> tokens.Counter:
        together.wait(5)
        return token_counter("o200k_base")

    with ThreadPoolExecutor(8) as pool:
        counters = list(pool.map(ask, range(8)))

    assert len(set(map(id, counters))) == 1


def test_an_encoding_of_ones_own_has_a_counter_of_its_own():
    encoding = tiktoken.Encoding(
        "o200k_base", pat_str="(?s:.)", mergeable_ranks={bytes([n]): n for n in range(256)}, special_tokens={}
    )

    assert token_counter(encoding).count("four") == 4
    assert token_counter("o200k_base").count("four") == 1


def test_o200k_base_is_the_default():
    text = "Pandas 数据 👩‍🚀"

    assert token_counter().count(text) == len(tiktoken.get_encoding("o200k_base").encode_ordinary(text))


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        (None, "o200k_base"),
        ("cl100k_base", "cl100k_base"),
        ("gpt-4o", "o200k_base"),
        ("gpt-4", "cl100k_base"),
        ("approximate", "approximate"),
    ],
)
def test_encodings_and_models_are_known_by_name(spec: object, name: str):
    assert repr(token_counter(spec)) == f"TokenCounter({name})"


@pytest.mark.parametrize("options", [{}, {"allowed_special": "all"}])
def test_the_encode_of_an_encoding_counts_as_the_encoding_and_refuses_no_text(options: dict[str, str]):
    counter = token_counter("cl100k_base")  # loaded from what is installed
    encode = tiktoken.get_encoding("cl100k_base").encode

    given = token_counter(functools.partial(encode, **options) if options else encode)

    assert given.count("It ends with <|endoftext|>") == counter.count("It ends with <|endoftext|>") > 5


def test_an_encoding_object_counts_as_itself():
    encoding = tiktoken.get_encoding("cl100k_base")

    assert token_counter(encoding).count("Pandas reads CSV.") == len(encoding.encode("Pandas reads CSV."))


@pytest.mark.parametrize("text", ["<|endoftext|>", "<|fim_prefix|> a <|endofprompt|>"])
def test_special_tokens_in_a_text_are_counted_as_the_text_they_are(text: str):
    assert token_counter().count(text) == len(tiktoken.get_encoding("o200k_base").encode_ordinary(text)) > 4


def test_a_hugging_face_tokenizer_counts_without_the_special_tokens_it_adds():
    tokenizer = word_tokenizer()

    assert len(tokenizer.encode("pandas reads csv").ids) == 5
    assert token_counter(tokenizer).count("pandas reads csv") == 3


def test_a_byte_level_tokenizer_counts_its_merges():
    tokenizer = bpe_tokenizer()

    assert token_counter(tokenizer).count("pandas") == len(tokenizer.encode("pandas").ids) < len("pandas")


@pytest.mark.parametrize("prepare", ["enable_truncation", "enable_padding"])
def test_a_tokenizer_that_truncates_or_pads_counts_the_whole_text_and_is_left_as_it_is(prepare: str):
    tokenizer = word_tokenizer()
    settings = {"enable_truncation": {"max_length": 4}, "enable_padding": {"length": 50, "pad_id": 3}}
    getattr(tokenizer, prepare)(**settings[prepare])
    before = tokenizer.to_str()

    counted = token_counter(tokenizer).count("pandas reads csv " * 3)

    assert counted == 9
    assert tokenizer.to_str() == before


def test_an_encode_method_without_the_option_for_special_tokens_will_do():
    class Words:
        name = "words"

        def encode(self, text: str) -> list[str]:
            return text.split()

    counter = token_counter(Words())

    assert counter.count("one two three") == 3
    assert repr(counter) == "TokenCounter(words)"


@pytest.mark.parametrize(
    "spec",
    [
        len,
        lambda text: len(text) + 0,
        list,
        lambda text: np.int64(len(text)),
        lambda text: np.zeros(len(text)),
    ],
)
def test_a_callable_may_give_a_number_or_the_tokens(spec: object):
    assert token_counter(spec).count("four") == 4


def test_a_callable_object_counts():
    assert token_counter(Everything()).count("one two") == 2


@pytest.mark.parametrize("returned", [-1, True, 2.0, None, "tokens", b"tokens", UserDict(input_ids=[1, 2])])
def test_a_callable_that_gives_no_count_is_an_error_that_shows_what_it_gave(returned: object):
    counter = token_counter(lambda text: returned)

    with pytest.raises(ConfigError) as raised:
        counter.count("text")

    assert raised.value.field == "token_counter"
    assert raised.value.value is returned


@pytest.mark.parametrize("spec", ["", "o300k_base", "llama-3", 5, 1.5, object(), ["o200k_base"]])
def test_what_names_no_tokenizer_is_an_error(spec: object):
    with pytest.raises(ConfigError) as raised:
        token_counter(spec)

    assert raised.value.field == "token_counter"
    assert repr(spec) in str(raised.value)


def test_an_unknown_name_is_answered_with_the_known_ones():
    with pytest.raises(ConfigError, match=r"cl100k_base, o200k_base.* or 'approximate', got 'o300k_base'"):
        token_counter("o300k_base")


def test_a_counter_is_returned_as_it_is():
    class Own:
        def count(self, text: str) -> int:
            return 1

        def cut(self, text: str, limit: int) -> str:
            return text

    own = Own()

    assert token_counter(own) is own
    assert isinstance(TokenCounter(len, name="characters"), Counter)


@pytest.mark.parametrize("spec", [None, word_tokenizer(), bpe_tokenizer(), lambda text: len(text.encode())])
def test_single_surrogates_are_counted_as_the_replacement_character(spec: object):
    counter = token_counter(spec)

    assert counter.count("a \ud800") == counter.count("a \ufffd")
    assert counter.count(SURROGATES) == counter.count("😀")


def test_the_approximate_count_is_a_quarter_of_ascii_and_two_thirds_of_the_rest_rounded_up():
    counter = token_counter("approximate")

    assert counter.count("") == 0
    assert counter.count("abcde") == 2
    assert counter.count("数据分") == 2
    assert counter.count("abcd数据分析") == approximate_tokens("abcd数据分析") == 4


# --- the cache ---


def test_each_text_is_measured_once():
    measured: list[str] = []
    counter = TokenCounter(lambda text: measured.append(text) or len(text), name="spy")

    counts = [counter.count("a text") for _ in range(3)]

    assert counts == [6, 6, 6]
    assert measured == ["a text"]


def test_the_cache_is_bounded_and_holds_no_texts():
    counter = TokenCounter(len, name="characters", cached=10)

    for n in range(1_000):
        assert counter.count(f"text {n}") == len(f"text {n}")

    assert len(counter._counts) <= 10
    assert all(len(key) == 16 for key in counter._counts)


def test_many_threads_count_at_once():
    counter = TokenCounter(len, name="characters", cached=50)
    wrong: list[str] = []

    def count() -> None:
        wrong.extend(text for n in range(2_000) if counter.count(text := "x" * (n % 100)) != n % 100)

    threads = [threading.Thread(target=count) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []


@pytest.mark.parametrize("spec", [None, len, Everything()])
def test_counters_pickle_where_what_they_count_with_does(spec: object):
    counter = token_counter(spec)

    assert pickle.loads(pickle.dumps(counter)).count("one two") == counter.count("one two")


# --- cutting ---


@pytest.mark.parametrize(
    ("text", "limit", "head"),
    [
        ("four", 3, "fou"),
        ("four", 4, "four"),
        ("four", 400, "four"),
        ("four", 0, ""),
        ("four", -1, ""),
        ("", 3, ""),
        ("e\u0301te\u0301", 1, ""),
        ("e\u0301te\u0301", 2, "e\u0301"),
        ("e\u0301te\u0301", 4, "e\u0301t"),
        (f"a{FAMILY}b", len(FAMILY), "a"),
        (f"a{FAMILY}b", len(FAMILY) + 1, f"a{FAMILY}"),
        ("🇩🇪🇫🇷", 3, "🇩🇪"),
        (f"a{SURROGATES}b", 1, "a"),
        (f"a{SURROGATES}b", 2, f"a{SURROGATES}"),
        ("a\r\nb", 2, "a"),
        ("x" + "\u0301" * 500 + "y", 100, ""),
    ],
)
def test_a_cut_is_the_longest_head_of_whole_characters(text: str, limit: int, head: str):
    assert token_counter(len).cut(text, limit) == head


texts = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("ab \n\u0301\u200d👩👧🇩🇪\ud83d\ude00数据"),
    ),
    max_size=60,
)
COUNTERS: list[Callable[[str], int]] = [
    len,
    lambda text: len(text.encode()),
    lambda text: len(text.split()),
    lambda text: -(-len(text) // 3),
]


def heads(text: str) -> list[str]:
    """All heads of whole grapheme clusters, with unjoined surrogate pairs as one."""
    ends = [found.end() for found in regex.finditer(r"[\ud800-\udbff][\udc00-\udfff]|\X", text)]
    return ["", *(text[:end] for end in ends)]


@given(texts, st.integers(0, 70), st.sampled_from(COUNTERS))
def test_for_a_counter_that_grows_no_head_that_fits_is_longer(
    text: str, limit: int, measure: Callable[[str], int]
):
    counter = token_counter(measure)

    cut = counter.cut(text, limit)

    fitting = [head for head in heads(text) if counter.count(head) <= limit]
    assert cut == ("" if limit == 0 else fitting[-1])


@given(texts, st.integers(1, 40), st.sampled_from([None, "cl100k_base"]))
@example("internationalization of internationalization", 3, None)
@example("_" * 200, 2, None)
@example(" " * 300 + "x", 2, None)
def test_with_a_real_tokenizer_the_cut_fits_is_a_whole_head_and_the_next_character_would_not_fit(
    text: str, limit: int, spec: str | None
):
    counter = token_counter(spec)

    cut = counter.cut(text, limit)

    all_heads = heads(text)
    assert cut in all_heads
    assert counter.count(cut) <= limit
    for longer in all_heads[all_heads.index(cut) + 1 :][:8]:
        assert counter.count(longer) > limit


@given(texts, st.integers(0, 30))
def test_a_counter_that_falls_as_the_text_grows_still_gets_a_head_that_fits(text: str, limit: int):
    counter = token_counter(lambda text: max(0, len(text) - 7 * text.count("a")))

    cut = counter.cut(text, limit)

    assert cut in heads(text)
    assert counter.count(cut) <= limit


def test_a_character_that_goes_on_where_the_search_ends_is_not_broken():
    counter = token_counter(lambda text: 1 if len(text) == 100 else 100)

    assert counter.cut("a" + "\u0301" * 500, 5) == ""


def test_a_text_that_fits_is_returned_as_it_is():
    text = "Pandas reads CSV."

    assert token_counter().cut(text, 100) is text


@pytest.mark.parametrize(
    "text",
    ["word " * 80_000, "数据分析" * 100_000, FAMILY * 36_000, "x" * 400_000],
    ids=["words", "han", "families", "letters"],
)
def test_the_head_of_400_kb_is_found_by_measuring_little_more_than_the_head(text: str):
    measured = 0

    def measure(text: str) -> int:
        nonlocal measured
        measured += len(text)
        return -(-len(text) // 4)

    cut = token_counter(measure).cut(text, 1_000)

    assert 3_900 < len(cut) <= 4_000
    assert measured < 40 * 4_000


def test_half_of_400_kb_is_cut_with_few_counts():
    counts = 0

    def measure(text: str) -> int:
        nonlocal counts
        counts += 1
        return len(text.split())

    cut = token_counter(measure).cut("word " * 80_000, 40_000)

    assert len(cut.split()) == 40_000
    assert counts < 30


# --- vocabularies without a network ---

NO_NETWORK = """
import sys

def refuse(event, args):
    if event.startswith("socket.") and event != "socket.__new__":
        raise OSError("no network here")

sys.addaudithook(refuse)
"""


def run_offline(code: str, *, without: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter without network, tiktoken caches and, maybe, one package."""
    hide = f"sys.modules[{without!r}] = None\n" if without else ""
    environ = {key: value for key, value in os.environ.items() if "CACHE_DIR" not in key}
    return subprocess.run(
        [sys.executable, "-c", NO_NETWORK + hide + code],
        env={**environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


COUNT = "import os; from packline import token_counter; print(token_counter({}).count('数据分析'))"


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_vocabularies_come_from_the_copy_that_llama_index_carries(name: str, tmp_path: Path):
    code = COUNT.format(repr(name)) + "; print(os.environ.get('TIKTOKEN_CACHE_DIR'))"

    done = run_offline(code, TMPDIR=str(tmp_path))

    assert done.stdout.split() == ["2" if name == "o200k_base" else "3", "None"], done.stderr
    assert list(tmp_path.iterdir()) == []


def test_importing_the_counter_does_not_import_llama_index():
    done = run_offline(COUNT.format("") + "; print('llama_index.core' in __import__('sys').modules)")

    assert done.stdout.split()[-1] == "False", done.stderr


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_a_users_cache_is_used_first(variable: str, tmp_path: Path):
    for file in BUNDLE.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())

    done = run_offline(COUNT.format(""), without="llama_index", **{variable: str(tmp_path)})

    assert done.stdout.strip() == "2", done.stderr


def test_it_is_used_even_where_there_is_the_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for file in BUNDLE.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    used: list[str] = []

    def load(name: str) -> tiktoken.Encoding:
        used.append(os.environ["TIKTOKEN_CACHE_DIR"])
        return tiktoken.get_encoding(name)

    monkeypatch.setattr("packline.vocabulary._fetched", load)
    _load("o200k_base")

    assert used == [str(tmp_path)]


@pytest.mark.parametrize("variable", ["TIKTOKEN_CACHE_DIR", "DATA_GYM_CACHE_DIR"])
def test_a_users_cache_without_the_vocabulary_falls_back_to_the_copy_and_stays_set(
    variable: str, tmp_path: Path
):
    code = COUNT.format("") + f"; print(os.environ[{variable!r}])"

    done = run_offline(code, **{variable: str(tmp_path)})

    assert done.stdout.split() == ["2", str(tmp_path)], done.stderr
    assert list(tmp_path.iterdir()) == []


def test_where_there_is_no_vocabulary_the_error_names_the_ways_out(tmp_path: Path):
    code = """
from packline import PacklineError, token_counter
try:
    token_counter()
except PacklineError as error:
    print(error)
print(token_counter("approximate").count("four"))
"""

    done = run_offline(code, without="llama_index", TMPDIR=str(tmp_path))

    message, approximate = done.stdout.splitlines()
    assert message.startswith(
        "the vocabulary of o200k_base is not on this machine and could not be fetched ("
    )
    assert "TIKTOKEN_CACHE_DIR" in message
    assert 'pip install "packline[llama-index]"' in message
    assert "token_counter='approximate'" in message
    assert approximate == "1"


def test_the_names_of_the_bundled_files_are_those_that_tiktoken_gives_them():
    address = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"

    for name in ("cl100k_base", "o200k_base"):
        assert _BUNDLED[name] == hashlib.sha1(address.format(name).encode()).hexdigest()
        assert (BUNDLE / _BUNDLED[name]).is_file()
