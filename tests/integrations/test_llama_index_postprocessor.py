"""ContextPostprocessor: which nodes come back, what they cost, and that nothing given is changed."""

import asyncio
import copy
import json
import pickle
import re
import threading
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pytest
from llama_index.core import Settings
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.rerank import ReRankEndEvent, ReRankStartEvent
from llama_index.core.instrumentation.span_handlers import SimpleSpanHandler
from llama_index.core.schema import (
    Document,
    ImageNode,
    IndexNode,
    MediaResource,
    MetadataMode,
    Node,
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)
from llama_index_packline import BundledEmbedding, ContextEvent, ContextPostprocessor, collect_contexts

from packline import ConfigError, token_counter
from packline.relevance import Reranked

NOW = datetime(2026, 1, 15, 12, 0, tzinfo=UTC)


def node(text: str, score: float | None = None, **options: Any) -> NodeWithScore:
    return NodeWithScore(node=TextNode(text=text, **options), score=score)


def shown(nodes: list[NodeWithScore], mode: MetadataMode = MetadataMode.LLM) -> str:
    """What LlamaIndex's synthesizers send to the model."""
    return "\n\n".join(node.node.get_content(metadata_mode=mode).strip() for node in nodes)


def chosen(
    nodes: list[NodeWithScore], query: str | None = "Which one?", **options: Any
) -> list[NodeWithScore]:
    """The nodes that are kept, one character a token."""
    options.setdefault("token_counter", len)
    options.setdefault("now", NOW)
    return ContextPostprocessor(**options).postprocess_nodes(nodes, query_str=query)


def texts(nodes: list[NodeWithScore]) -> list[str]:
    return [node.node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes]


LONG = " ".join(f"Sentence number {number} is about nothing." for number in range(200))


# --- the budget ---


def test_a_budget_may_be_a_share_of_the_models_window():
    nodes = [node("x" * 40, 0.9), node("y" * 40, 0.8)]

    assert chosen(nodes, max_tokens=0.25, context_window=200) == nodes[:1]
    assert chosen(nodes, max_tokens=0.5, context_window=200) == nodes
    assert chosen(nodes, max_tokens=np.int64(50)) == nodes[:1]


def test_a_budget_may_follow_the_question():
    nodes = [node("x" * 40, 0.9), node("y" * 40, 0.8)]
    asked: list[str] = []

    def budget(question: str) -> float:
        asked.append(question)
        return 50 if "one" in question else 0.5

    options = {"max_tokens": budget, "context_window": 200}

    assert chosen(nodes, "Which one?", **options) == nodes[:1]
    assert chosen(nodes, "Which?", **options) == nodes
    assert chosen(nodes, None, **options) == nodes
    assert set(asked) == {"Which one?", "Which?", ""}


def test_a_stop_share_leaves_room_unused_where_nothing_comes_near_the_best():
    nodes = [node("x" * 40, 0.9), node("y" * 40, 0.2)]

    assert chosen(nodes, scores="raw") == nodes
    assert chosen(nodes, scores="raw", stop_share=0.9) == nodes[:1]


def test_metadata_counts_since_the_model_sees_them():
    nodes = [node("x" * 10, 0.9, metadata={"file": "y" * 80}), node("z" * 10, 0.8)]

    assert texts(chosen(nodes, max_tokens=50)) == ["z" * 10]
    assert texts(chosen(nodes, max_tokens=50, metadata_mode="none")) == ["x" * 10, "z" * 10]


def test_metadata_that_are_hidden_from_the_model_do_not_count():
    hidden = node("x" * 10, metadata={"path": "y" * 80}, excluded_llm_metadata_keys=["path"])

    assert chosen([hidden], max_tokens=20) == [hidden]


def test_one_node_of_15000_tokens_and_the_question_hello_give_a_short_node_and_not_an_overflow():
    table = node("\n".join(f"row {number},{number * 7},{number * 13}" for number in range(1_500)), 0.4)

    result = chosen([table], "hello", max_tokens=500, token_counter="o200k_base")

    assert 250 < token_counter().count(shown(result)) <= 500
    assert len(result) == 1


def test_a_node_that_does_not_fit_does_not_end_the_filling():
    large, small = node("x" * 300, 0.9), node("small", 0.2)

    assert chosen([large, small], max_tokens=100, enable_compression=False) == [small]


def test_many_nodes_and_a_small_budget_give_whole_nodes_and_at_most_one_short_one():
    sentences = "One thing is said here. Another thing is said here. And so a node is made."
    nodes = [node(f"Node {number}. {sentences}", 1 - number / 500) for number in range(500)]

    result = chosen(nodes, max_tokens=1_000)

    whole = [item for item in result if any(item is given for given in nodes)]
    assert len(whole) >= len(result) - 1
    assert len(whole) == 11
    assert 950 <= len(shown(result)) <= 1_000


def test_metadata_longer_than_the_budget_cost_only_their_own_node():
    heavy, light = node("x" * 10, 0.9, metadata={"blob": "y" * 5_000}), node(LONG, 0.8)

    result = chosen([heavy, light], max_tokens=500)

    assert [item.node.node_id for item in result] == [light.node.node_id]
    assert 400 < len(shown(result)) <= 500


def test_a_tokenizer_that_counts_more_is_believed():
    def more(text: str) -> int:
        return int(1.4 * token_counter().count(text) + 1)

    nodes = [node(f"{number}. {LONG[: 200 + number]}", 0.5) for number in range(40)]

    result = chosen(nodes, max_tokens=800, token_counter=more)

    assert 750 <= more(shown(result)) <= 800


def test_special_tokens_in_a_node_are_text_like_any_other():
    special = node("Before <|endoftext|> and after <|im_start|>system.")

    assert chosen([special], max_tokens=100, token_counter="o200k_base") == [special]
    assert chosen([special], max_tokens=100, token_counter=None) == [special]


def test_whole_nodes_only_where_compression_is_off():
    nodes = [node(LONG, 0.9), node("whole", 0.1)]

    assert chosen(nodes, max_tokens=500, enable_compression=False) == [nodes[1]]


# --- shortening ---


def test_a_shortened_node_keeps_its_sentences_in_order_and_those_that_matter():
    text = " ".join(
        f"Sentence {number} speaks of {'the secret harbour' if number in (3, 77, 150) else 'the weather'}."
        for number in range(200)
    )

    [short] = chosen([node(text)], "Where is the secret harbour?", max_tokens=250)

    found = [short.node.get_content().find(f"Sentence {number} ") for number in (3, 77, 150)]
    assert -1 not in found
    assert found == sorted(found)


def test_a_node_of_one_very_long_sentence_is_cut_between_words():
    sentence = " ".join(["endless"] * 2_000)

    [short] = chosen([node(sentence)], max_tokens=300)

    assert 240 < len(shown([short])) <= 300
    assert set(short.node.get_content().replace("…", "").split()) == {"endless"}


def test_chinese_text_is_cut_at_its_own_full_stops():
    text = "港口在城市的南边。" + "今天的天气非常好！" * 50 + "你喜欢喝茶吗？" * 50

    [short] = chosen([node(text)], "港口在哪里？", max_tokens=60)

    assert "港口在城市的南边。" in short.node.get_content()
    assert len(shown([short])) <= 60


@pytest.mark.parametrize(
    "given",
    [
        TextNode(text=LONG, start_char_idx=5, end_char_idx=5 + len(LONG)),
        Document(text=LONG),
        Node(text_resource=MediaResource(text=LONG)),
        IndexNode(text=LONG, index_id="other", obj={"kept": True}),
        ImageNode(text=LONG, image_url="http://127.0.0.1/picture.png"),
    ],
    ids=lambda given: type(given).__name__,
)
def test_a_shortened_node_is_a_copy_that_shares_nothing_with_the_original(given):
    given.metadata = {"file": "a.txt", "tags": ["one"]}
    given.embedding = [0.1, 0.2]
    given.excluded_llm_metadata_keys = ["tags"]
    given.relationships = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id="document")}
    before = given.model_copy(deep=True)

    [short] = chosen([NodeWithScore(node=given, score=0.7)], max_tokens=300)

    copied = short.node
    assert given == before
    assert type(copied) is type(given)
    assert (copied.node_id, short.score) == (given.node_id, 0.7)
    assert copied.relationships == given.relationships
    assert copied.embedding is None
    assert getattr(copied, "start_char_idx", None) is None
    assert copied.metadata["packline_original_hash"] == given.hash
    assert copied.metadata["packline_original_length"] == len(LONG)
    assert "packline" not in copied.get_content(metadata_mode=MetadataMode.LLM)
    assert "packline" not in copied.get_content(metadata_mode=MetadataMode.EMBED)
    assert copied.get_content(metadata_mode=MetadataMode.LLM).startswith("file: a.txt\n\n")
    copied.metadata["tags"].append("two")
    copied.excluded_llm_metadata_keys.clear()
    assert given == before


def test_what_hides_in_a_shortened_node_is_counted_where_the_mode_shows_it():
    result = chosen([node(LONG, metadata={"file": "a"})], max_tokens=600, metadata_mode=MetadataMode.ALL)

    assert 500 < len(shown(result, MetadataMode.ALL)) <= 600


# --- nothing of the caller's is changed ---


def test_whole_nodes_come_back_as_the_same_objects_with_their_scores():
    nodes = [
        node(f"Text {number}.", score, metadata={"n": number})
        for number, score in enumerate((0.5, None, 0.1))
    ]
    before = copy.deepcopy(nodes)

    result = chosen(nodes)

    assert {id(item) for item in result} == {id(item) for item in nodes}
    assert nodes == before


@pytest.mark.parametrize(
    "given",
    [
        Document(text="A document."),
        Node(text_resource=MediaResource(text="A node.")),
        IndexNode(text="I", index_id="i"),
    ],
)
def test_every_kind_of_node_is_taken(given):
    item = NodeWithScore(node=given)

    assert chosen([item]) == [item]


def test_images_without_text_cost_nothing_and_come_back_last():
    picture = NodeWithScore(node=ImageNode(image_url="http://127.0.0.1/picture.png"), score=0.9)
    words = node("Some words.", 0.1)

    assert chosen([picture, words], max_tokens=20) == [words, picture]
    assert chosen([picture], max_tokens=1) == [picture]


def test_an_image_that_has_only_metadata_costs_what_they_cost():
    picture = NodeWithScore(node=ImageNode(image_url="http://127.0.0.1/p.png", metadata={"alt": "y" * 50}))

    assert chosen([picture], max_tokens=100) == [picture]
    assert chosen([picture], max_tokens=50) == []


def test_no_nodes_are_no_nodes_and_a_blank_one_costs_nothing():
    blank = node("  ")

    assert chosen([]) == []
    assert chosen([blank]) == [blank]


# --- scores ---


@pytest.mark.parametrize(
    "scores",
    [(0.033, 0.016, 0.015), (25.0, 3.0, 0.0), (-0.1, -0.5, -0.9), (9.0, 7.0, 1.0), (0.5, 0.0, float("nan"))],
)
def test_scores_of_any_scale_keep_their_order_and_none_is_deleted(scores):
    nodes = [node(f"{name} says something.", score) for name, score in zip("abc", scores, strict=True)]

    assert chosen(nodes[::-1]) == nodes
    assert chosen(nodes[::-1], scores="minmax")[0] == nodes[0]
    assert len(chosen(nodes, scores="minmax")) == 3


def test_a_score_of_none_is_unknown_and_the_node_is_scored_anew():
    nodes = [node("Cats sleep.", 0.5), node("Fish swim in the sea.", None), node("Dogs bark.", 0.1)]

    result = chosen(nodes, "Do fish swim in the sea?")

    assert result.index(nodes[1]) < result.index(nodes[2])


def test_nodes_that_have_no_score_at_all_are_ranked_by_the_question():
    nodes = [node("Cats sleep all day."), node("Dogs bark at night."), node("Fish swim in the sea.")]

    assert chosen(nodes, "What do fish do?")[0] is nodes[2]


def test_a_score_of_zero_is_a_score():
    zero, unknown = node("Nothing of it.", 0.0), node("Fish swim.", None)

    assert chosen([zero, unknown], "Do fish swim?", scores="raw") == [unknown, zero]
    assert chosen([zero], "Do fish swim?", min_relevance=0.5, scores="raw") == []


def test_scores_are_ignored_where_that_is_said():
    nodes = [node("Cats sleep all day.", 0.9), node("Fish swim in the sea.", 0.1), node("Dogs bark.", 0.5)]

    assert chosen(nodes, "What do fish do?", scores="ignore")[0] is nodes[1]


def test_raw_scores_and_callables_are_relevance():
    nodes = [node("a says this", 0.9), node("b says that", 0.05)]

    assert chosen(nodes, scores="raw", min_relevance=0.1) == nodes[:1]
    assert chosen(nodes, scores=lambda score: 1 - score / 2, min_relevance=0.1) == [nodes[1], nodes[0]]


# --- dates ---


def moments() -> list[object]:
    """The same day, as people write it."""
    day = NOW - timedelta(days=1)
    return [
        day,
        day.isoformat(),
        day.timestamp(),
        day.timestamp() * 1000,
        str(int(day.timestamp())),
        day.date(),
        "2026-01-14",
        "2026/1/14",
        "2026年1月14日",
        "2026-01-14T20:00:00+08:00",
    ]


@pytest.mark.parametrize("written", moments(), ids=str)
def test_dates_are_read_however_they_are_written(written: object):
    old = node("The price was raised.", 0.5, metadata={"date": "2020-01-01"})
    new = node("The price was lowered.", 0.5, metadata={"date": written})

    assert chosen([old, new], "What is the latest price?") == [new, old]


def test_the_nodes_need_not_be_in_the_order_of_their_dates():
    days = [3, 0, 4, 1, 2]
    nodes = [node(f"Day {day}.", 0.5, metadata={"date": str(date(2026, 1, 10 + day))}) for day in days]

    result = chosen(nodes, "What is the latest?", recency="always", recency_weight=1.0)

    assert texts(result) == ["Day 4.", "Day 3.", "Day 2.", "Day 1.", "Day 0."]


def test_undated_nodes_are_as_old_as_can_be_and_future_ones_are_new():
    undated = node("no date", 0.5)
    future = node("future", 0.5, metadata={"date": "2999-01-01"})
    old = node("old", 0.5, metadata={"date": "2026-01-01"})

    result = chosen([undated, old, future], recency="always", recency_weight=1.0)

    assert texts(result) == ["future", "old", "no date"]


def test_the_first_key_that_holds_a_date_counts_and_a_callable_decides_alone():
    first = node("first", 0.5, metadata={"said": "soon", "written": "2026-01-14", "read": "2001-01-01"})
    second = node("second", 0.5, metadata={"said": "2026-01-01", "written": "2026-01-15"})
    options = {"recency": "always", "recency_weight": 1.0}

    assert texts(chosen([second, first], dates=["said", "written"], **options)) == ["first", "second"]
    assert texts(chosen([first, second], dates=lambda node: node.metadata.get("written"), **options)) == [
        "second",
        "first",
    ]


def test_recency_counts_only_where_the_question_asks_for_the_newest():
    relevant = node("relevant", 0.9, metadata={"date": "2020-01-01"})
    recent = node("recent", 0.8, metadata={"date": "2026-01-15"})

    assert chosen([relevant, recent], "When was it?", recency_weight=0.9) == [relevant, recent]
    assert chosen([relevant, recent], "What is the latest?", recency_weight=0.9) == [recent, relevant]


# --- duplicates and order ---


def test_the_same_text_under_three_ids_stands_once():
    nodes = [
        node("The harbour closes at nine.", 0.5 + n / 10, metadata={"file": f"{n}.txt"}) for n in range(3)
    ]

    with collect_contexts() as contexts:
        result = chosen(nodes)

    assert result == [nodes[2]]
    assert [packet.origin for packet in contexts[0].kept[0].merged] == [nodes[1], nodes[0]]
    assert len(chosen(nodes, merge_duplicates=False)) == 3


@pytest.mark.parametrize(("order", "expected"), [("score", "dbca"), ("given", "abcd"), ("ends", "dcab")])
def test_nodes_come_back_by_score_as_given_or_with_the_best_at_both_ends(order: str, expected: str):
    nodes = [node(name, score) for name, score in zip("abcd", (0.1, 0.8, 0.5, 0.9), strict=True)]

    assert texts(chosen(nodes, order=order)) == list(expected)


# --- the question ---


def test_without_a_question_the_scores_decide_and_unknown_nodes_keep_their_order():
    nodes = [node("a", 0.1), node("b", 0.9)]
    unknown = [node("first"), node("second"), node("third")]

    assert ContextPostprocessor().postprocess_nodes(nodes) == [nodes[1], nodes[0]]
    assert chosen(unknown, None, min_relevance=0.5) == unknown
    assert chosen(unknown, " \n", min_relevance=0.5) == unknown


def test_line_breaks_at_the_end_of_the_question_are_not_part_of_it():
    with collect_contexts() as contexts:
        ContextPostprocessor().postprocess_nodes([node("a")], QueryBundle("Which one?\n\n"))

    assert contexts[0].request.question == "Which one?"


def test_two_questions_at_once_are_refused_as_everywhere_in_llama_index():
    with pytest.raises(ValueError, match="both query_str and query_bundle"):
        ContextPostprocessor().postprocess_nodes([node("a")], QueryBundle("a"), query_str="b")


# --- the tokenizer ---


@pytest.fixture
def tokenizer_restored():
    import llama_index.core

    before = llama_index.core.global_tokenizer
    yield
    llama_index.core.global_tokenizer = before


@pytest.mark.usefixtures("tokenizer_restored")
def test_the_tokenizer_of_the_settings_counts_as_it_is_when_the_nodes_come():
    postprocessor = ContextPostprocessor(max_tokens=59)
    nodes = [node("x y z " * 5, 0.9), node("a b c " * 5, 0.8)]

    Settings.tokenizer = list
    by_characters = postprocessor.postprocess_nodes(nodes, query_str="q")
    Settings.tokenizer = str.split
    by_words = postprocessor.postprocess_nodes(nodes, query_str="q")

    assert (len(by_characters), len(by_words)) == (1, 2)


@pytest.mark.usefixtures("tokenizer_restored")
def test_an_encoder_that_refuses_special_tokens_does_not_fail_on_a_node_that_holds_one():
    import tiktoken

    token_counter("cl100k_base")  # loaded from what is installed
    Settings.tokenizer = tiktoken.get_encoding("cl100k_base").encode

    assert chosen([node("It ends with <|endoftext|>")], token_counter=None) != []


def test_the_bundled_tokenizer_counts_where_none_is_set():
    nodes = [node("word " * 50, 0.9)]

    with collect_contexts() as contexts:
        ContextPostprocessor().postprocess_nodes(nodes, query_str="q")

    assert contexts[0].tokens == token_counter("cl100k_base").count(shown(nodes))


def test_a_node_without_a_place_for_a_score_is_named():
    with pytest.raises(
        ConfigError, match=r"nodes\[1\] must be a NodeWithScore, such as NodeWithScore\(node=...\)"
    ):
        ContextPostprocessor().postprocess_nodes([node("Fish."), TextNode(text="Cats.")], query_str="q")


def test_a_postprocessor_with_an_embedding_model_is_pickled_and_written_out_like_any():
    made = ContextPostprocessor(relevance=BundledEmbedding(), scores="ignore")
    nodes = [node("Profits rose by a tenth."), node("Fish swim in the sea.")]
    asked = {"query_str": "What do fish do?"}

    chosen = made.postprocess_nodes(nodes, **asked)

    assert pickle.loads(pickle.dumps(made)).postprocess_nodes(nodes, **asked) == chosen
    assert copy.deepcopy(made).postprocess_nodes(nodes, **asked) == chosen
    assert json.loads(made.to_json())["relevance"]["model_name"] == BundledEmbedding().model_name


def test_an_embedding_model_scores_and_embeds_no_text_twice():
    class Counting(BundledEmbedding):
        texts: list[str] = []  # noqa: RUF012  # a field of a model

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            self.texts.extend(texts)
            return super()._get_text_embeddings(texts)

    nodes = [node("Profits rose by a tenth."), node("Fish swim in the sea.")]
    model = Counting()
    postprocessor = ContextPostprocessor(relevance=model, scores="ignore")

    found = [postprocessor.postprocess_nodes(nodes, query_str="What do fish do?") for _ in range(2)]

    assert found[0] == found[1]
    assert found[0][0] is nodes[1]
    assert sorted(model.texts) == sorted(n.node.text for n in nodes)


def backwards(question: str, texts: list[str]) -> list[float]:
    """A reranker that puts the last text in the alphabet first."""
    return [float(sorted(texts).index(text)) for text in texts]


@pytest.mark.parametrize("relevance", ["hybrid", BundledEmbedding(), lambda query, packets: [0.1, 0.9]])
def test_a_relevance_that_is_given_is_used_though_the_nodes_have_scores(relevance: object):
    nodes = [node("Profits rose by a tenth.", 0.9), node("Fish swim in the sea.", 0.1)]

    assert chosen(nodes, "What do fish do?", relevance=relevance)[0] is nodes[1]
    assert chosen(nodes, "What do fish do?", relevance=relevance, scores="rank")[0] is nodes[0]
    assert chosen(nodes, "What do fish do?")[0] is nodes[0]


def test_a_reranker_reranks_what_a_retriever_has_scored():
    nodes = [node("A fish does fish.", 0.9), node("Of fish, one does.", 0.5), node("Some are fish.", 0.1)]

    result = chosen(nodes, "What do fish do?", relevance=Reranked(backwards))

    assert result == nodes[::-1]


def test_without_a_question_the_retrievers_order_holds_whatever_scores():
    nodes = [node("Low.", 0.1), node("High.", 0.9)]

    assert chosen(nodes, None, relevance="hybrid") == nodes[::-1]


def test_a_relevance_means_the_same_after_it_is_written_out_and_read_again():
    nodes = [node("Profits rose by a tenth.", 0.9), node("Fish swim in the sea.", 0.1)]
    asked = {"query_str": "What do fish do?"}

    for made in (ContextPostprocessor(), ContextPostprocessor(relevance="lexical")):
        again = ContextPostprocessor.from_dict(made.to_dict())

        assert again.postprocess_nodes(nodes, **asked) == made.postprocess_nodes(nodes, **asked)


# --- options ---


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("max_tokens", 0),
        ("max_tokens", "3000"),
        ("max_tokens", True),
        ("context_window", 0),
        ("stop_share", 1.5),
        ("min_relevance", 1.5),
        ("recency_weight", -0.1),
        ("recency_weight", "much"),
        ("recency", "sometimes"),
        ("half_life_days", 0),
        ("order", "newest"),
        ("scores", "best"),
        ("relevance", "magic"),
        ("dates", "date"),
        ("snippet_share", 2),
        ("merge_duplicates", "yes"),
        ("enable_compression", 1),
        ("metadata_mode", "some"),
        ("token_counter", "no-such-encoding"),
        ("now", "today"),
    ],
)
def test_a_bad_value_is_refused_when_it_is_made_and_when_it_is_set(option: str, value: object):
    postprocessor = ContextPostprocessor()
    before = getattr(postprocessor, option)

    with pytest.raises(ConfigError) as made:
        ContextPostprocessor(**{option: value})
    with pytest.raises(ConfigError) as put:
        setattr(postprocessor, option, value)

    assert (made.value.field, made.value.value) == (put.value.field, put.value.value) == (option, value)
    assert getattr(postprocessor, option) == before


@pytest.mark.parametrize("value", [0, -1, 1.0, "3000", None])
def test_the_refusal_of_a_budget_says_what_is_taken_and_where_to_get_it(value: object):
    with pytest.raises(ConfigError) as refused:
        ContextPostprocessor(max_tokens=value)

    assert refused.value.expected == (
        "a whole number from 1, such as budget_for(llm) gives, a share of context_window above 0 and below "
        "1, or a callable"
    )


def test_a_share_of_a_window_needs_the_window_when_it_is_made_and_when_it_is_set():
    postprocessor = ContextPostprocessor(max_tokens=0.25, context_window=400)

    with pytest.raises(ConfigError, match="context_window must be given where max_tokens is a share of it"):
        ContextPostprocessor(max_tokens=0.25)
    with pytest.raises(ConfigError, match="context_window must be given where max_tokens is a share of it"):
        postprocessor.context_window = None
    with pytest.raises(ConfigError, match=r"at least one token of context_window, 400, got 0\.001"):
        postprocessor.max_tokens = 0.001
    assert (postprocessor.max_tokens, postprocessor.context_window) == (0.25, 400)


def test_an_unknown_option_is_refused_with_the_nearest_known_one():
    with pytest.raises(
        ConfigError, match=r"option of ContextPostprocessor .* perhaps 'max_tokens', got 'max_token'"
    ):
        ContextPostprocessor(max_token=100)
    with pytest.raises(
        ConfigError, match=r"option of ContextPostprocessor .* perhaps 'max_tokens', got 'max_token'"
    ):
        ContextPostprocessor().max_token = 100


@pytest.mark.parametrize("option", ["scores", "relevance"])
def test_the_docs_name_every_choice_that_a_refusal_names(option: str):
    with pytest.raises(ConfigError) as refused:
        ContextPostprocessor(**{option: "best"})

    choices = re.findall(r"'(\w+)'", refused.value.expected)
    assert len(choices) >= 4
    assert [choice for choice in choices if f'"{choice}"' not in ContextPostprocessor.__doc__] == []


def test_a_value_that_pydantic_refuses_is_refused_in_the_same_words():
    with pytest.raises(ConfigError, match=r"^order must be 'score', 'given' or 'ends', got 'newest'$"):
        ContextPostprocessor(order="newest")


def test_a_postprocessor_written_out_and_read_again_chooses_the_same():
    made = ContextPostprocessor(
        max_tokens=77, order="ends", scores="minmax", token_counter="o200k_base", dates=["said"], now=NOW
    )

    again = ContextPostprocessor.from_dict(made.to_dict())

    assert made.to_dict()["class_name"] == "ContextPostprocessor"
    assert again.to_dict() == made.to_dict()
    assert ContextPostprocessor.from_json(ContextPostprocessor(max_tokens=5).to_json()).max_tokens == 5


def test_a_pickled_postprocessor_is_the_same_and_what_cannot_be_pickled_is_said():
    made = ContextPostprocessor(max_tokens=77, token_counter=len, dates=["said"])

    assert pickle.loads(pickle.dumps(made)).to_dict() == made.to_dict()
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(ContextPostprocessor(token_counter=lambda text: len(text) + 1))


# --- async, spans and events ---


class _Events(BaseEventHandler):
    seen: list = []  # noqa: RUF012  # a field of a model

    def handle(self, event, **kwargs):
        self.seen.append(event)


@pytest.fixture
def listening():
    """Handlers of events and spans at the root, as an observability tool installs them."""
    root, events, spans = get_dispatcher(), _Events(), SimpleSpanHandler()
    handlers = root.event_handlers, root.span_handlers
    root.event_handlers, root.span_handlers = [*handlers[0], events], [*handlers[1], spans]
    yield events.seen, spans
    root.event_handlers, root.span_handlers = handlers


async def test_both_ways_give_the_same_nodes_and_tell_the_same_events(listening):
    events, spans = listening
    nodes = [node("Fish swim.", 0.9), node(LONG, 0.5)]
    postprocessor = ContextPostprocessor(max_tokens=100, now=NOW)

    result = postprocessor.postprocess_nodes(nodes, query_str="Do fish swim?")
    told, entered = [type(event) for event in events], [span.id_ for span in spans.completed_spans]
    events.clear()
    awaited = await postprocessor.apostprocess_nodes(nodes, query_str="Do fish swim?")

    assert awaited == result
    assert told == [type(event) for event in events] == [ReRankStartEvent, ContextEvent, ReRankEndEvent]
    assert entered[-1].startswith("ContextPostprocessor._postprocess_nodes")
    assert spans.completed_spans[-1].id_.startswith("ContextPostprocessor._apostprocess_nodes")
    assert events[0].nodes == nodes
    assert events[2].nodes == awaited
    assert events[1].span_id == spans.completed_spans[-1].id_


async def test_the_event_carries_the_whole_account(listening):
    events, _ = listening
    ContextPostprocessor(max_tokens=20, token_counter=len).postprocess_nodes(
        [node("Fish swim.", 0.9), node("x" * 200, 0.5)], query_str="Do fish swim?"
    )

    account = events[1].model_dump()["context"]

    assert account["tokens"] == 10
    assert [entry["score"] for entry in account["kept"]] == [1.0]
    assert len(account["dropped"]) == 1


async def test_the_event_loop_is_not_blocked():
    beat = threading.Event()

    def counted(text: str) -> int:
        assert beat.wait(10), "nothing else ran in the meantime"
        return len(text)

    asyncio.get_running_loop().call_later(0.05, beat.set)
    postprocessor = ContextPostprocessor(max_tokens=100, token_counter=counted)

    assert len(await postprocessor.apostprocess_nodes([node("Fish swim.", 0.9)], query_str="Fish?")) == 1


def test_collected_contexts_nest_and_end():
    with collect_contexts() as outer:
        chosen([node("a")])
        with collect_contexts() as inner:
            chosen([node("b")])
        chosen([node("c")])
    chosen([node("d")])

    assert [context.text for context in outer] == ["a", "b", "c"]
    assert [context.text for context in inner] == ["b"]
