"""The postprocessor's budget, over many random cases: it always holds, and it is used."""

import logging
import math
import os
import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from llama_index.core.schema import Document, MetadataMode, NodeWithScore, TextNode
from llama_index_packline import ContextPostprocessor

from packline import token_counter

logger = logging.getLogger(__name__)
CASES = int(os.environ.get("PACKLINE_CASES", "150"))
BPE = token_counter("cl100k_base").count
TALE = """river valley memory budget token fish swim ocean data frame sort index merge query answer paper
report city train station history century music piano bridge tower engine signal protein cell market price"""
WORDS = TALE.split()
HAN = "数据分析工具优化内存使用方法字符类型城市河流历史音乐桥梁发动机市场价格政策学校学生行星轨道风暴森林"


def words(text: str) -> int:
    return len(text.split())


def joined(text: str) -> int:
    """Not additive: two texts may count more or less together than apart."""
    return math.ceil(len(text) / 3) + 2 * text.count("\n\n") - text.count("a") // 5


COUNTERS = {"cl100k_base": BPE, "words": words, "joined": joined}


def shown(nodes: list[NodeWithScore]) -> str:
    return "\n\n".join(node.node.get_content(metadata_mode=MetadataMode.LLM).strip() for node in nodes)


def sentence(dice: random.Random) -> str:
    if dice.random() < 0.15:
        return "".join(dice.choice(HAN) for _ in range(dice.randint(4, 40))) + dice.choice("。！？")
    return " ".join(dice.choice(WORDS) for _ in range(dice.randint(3, 25))).capitalize() + dice.choice(".?!")


def node(dice: random.Random) -> NodeWithScore:
    """One sentence to eighty, or one very long word, or one very long sentence; with or without metadata."""
    longest = dice.choice([1, 2, 3, 5, 8, 20, 80] if dice.random() < 0.2 else [1, 2, 3, 5, 8, 20])
    text = dice.choice([" ", "\n", "\n\n"]).join(sentence(dice) for _ in range(dice.randint(1, longest)))
    kind = dice.random()
    if kind < 0.03:
        text = "x" * dice.randint(1, 3_000)
    elif kind < 0.06:
        text = " ".join(dice.choice(WORDS) for _ in range(400))
    elif kind < 0.08:
        text += " <|endoftext|> {braces} 👩‍👩‍👧‍👦"
    metadata: dict[str, object] = {}
    if dice.random() < 0.6:
        metadata = {
            "file_path": f"/data/{dice.choice(WORDS)}_{dice.randint(0, 99)}.txt",
            "page": dice.randint(1, 99),
        }
    if dice.random() < 0.01:
        metadata["blob"] = "word " * dice.randint(1, 800)
    made = dice.choice([TextNode, Document])(text=text, metadata=metadata)
    return NodeWithScore(
        node=made, score=dice.choice([None, 0.0, dice.random(), dice.random(), float("nan")])
    )


@dataclass
class Fill:
    """How full the budget was, over the cases in which there was enough to fill it.

    A node whose metadata alone take more than a quarter of the budget is nothing to fill it with.
    """

    cases: int
    average: float


def measured(count: Callable[[str], int], **options: object) -> Fill:
    dice = random.Random(20260115)
    fills = []
    for case in range(CASES):
        nodes = [node(dice) for _ in range(dice.randint(1, 25))]
        budget = round(math.exp(dice.uniform(math.log(100), math.log(2_000))))
        question = " ".join(dice.choice(WORDS) for _ in range(4)) + "?"
        whole = {id(item): item.model_copy(deep=True) for item in nodes} if case % 20 == 0 else {}

        result = ContextPostprocessor(max_tokens=budget, token_counter=count, **options).postprocess_nodes(
            nodes, query_str=question
        )

        tokens = count(shown(result))
        assert tokens <= budget, f"case {case}"
        assert all(str(item) == str(whole[id(item)]) for item in nodes if whole)
        usable = [item for item in nodes if count(item.node.get_metadata_str(MetadataMode.LLM)) <= budget / 4]
        if count(shown(usable)) >= budget:
            fills.append(tokens / budget)
    return Fill(len(fills), sum(fills) / len(fills))


@pytest.mark.parametrize("name", COUNTERS)
def test_the_budget_is_never_exceeded_and_is_used_to_at_least_95_percent(name: str):
    fill = measured(COUNTERS[name])

    logger.info("%s: %.4f filled in %d of %d cases", name, fill.average, fill.cases, CASES)
    assert fill.average >= 0.95


def test_whole_nodes_alone_use_less_of_it_and_exceed_it_as_little():
    fill = measured(BPE, enable_compression=False)

    logger.info("whole nodes only: %.4f filled in %d of %d cases", fill.average, fill.cases, CASES)
    assert fill.average >= 0.85
