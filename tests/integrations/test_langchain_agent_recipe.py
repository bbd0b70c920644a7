"""The recipe of an agent with memory: what it was told first it knows after ten turns and a restart."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage

from packline import ContextConfig
from packline.chroma import MemoryStore

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "context_aware_agent.py"


@pytest.fixture(scope="module")
def recipe() -> ModuleType:
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("context_aware_agent", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_as_a_script_it_still_answers_from_the_first_turn_after_a_restart():
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, encoding="utf-8", timeout=300)

    assert done.returncode == 0, done.stderr
    before, _, after = done.stdout.partition("--- started anew ---\n")
    assert before.count("user: ") == 10
    assert after == (
        "user: What is my cat called?\nassistant: My cat is called Miso and she is three years old.\n"
    )


def test_each_exchange_is_written_back_with_its_importance_and_a_shortened_answer(
    recipe: ModuleType, tmp_path: Path
):
    class Talkative(recipe.Reader):  # type: ignore[misc, name-defined]
        def _generate(self, *args: Any, **kwargs: Any) -> Any:
            result = super()._generate(*args, **kwargs)
            result.generations[0].message = AIMessage("So it is, and moreover. " * 100)
            return result

    with MemoryStore(tmp_path, user_id="ann") as memory:
        agent = recipe.context_aware_agent(Talkative(), memory=memory)
        recipe.talk(agent, "My cat is called Miso.", "1")

        (remembered,) = memory.recent(5)

    assert remembered.content.startswith("Told: My cat is called Miso.\nAnswered: ")
    assert len(remembered.content) < 500
    assert "…" in remembered.content
    assert remembered.metadata["importance"] == 0.6


async def test_awaited_it_uses_knowledge_memory_and_conversation_within_the_budget(
    recipe: ModuleType, tmp_path: Path
):
    seen: list[Any] = []

    class Watched(recipe.Reader):  # type: ignore[misc, name-defined]
        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append(messages)
            return super()._generate(messages, *args, **kwargs)

    def encyclopaedia(query: str) -> list[Document]:
        return [Document("A cat sleeps up to sixteen hours a day.")]

    with MemoryStore(tmp_path, user_id="ann") as memory:
        memory.add("The cat of the user does not sleep long.", importance=0.6)
        agent = recipe.context_aware_agent(
            Watched(), memory=memory, sources=[encyclopaedia], config=ContextConfig(max_tokens=400)
        )
        config: Any = {"configurable": {"thread_id": "1"}}
        await agent.ainvoke({"messages": [HumanMessage("My cat is tired.")]}, config)
        await agent.ainvoke({"messages": [HumanMessage("How long does a cat sleep?")]}, config)

    system, user = seen[-1]
    assert recipe.INSTRUCTIONS in system.content
    assert "A cat sleeps up to sixteen hours a day." in user.content
    assert "Memory: The cat of the user does not sleep long." in user.content
    assert "user: My cat is tired." in user.content
    assert user.content.endswith("[Task]\nHow long does a cat sleep?")
