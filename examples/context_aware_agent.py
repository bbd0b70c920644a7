"""An agent with retrieval, memory and conversation, after the ContextAwareAgent of the Hello-Agents book.

For each question packline packs what the knowledge, the long-term memory and the conversation so far hold;
each exchange is written back to the memory, so the agent still knows after a restart what it was told before.

Needs `pip install "packline[agents,chroma,semantic]"`. Run as a script, it has a conversation of ten turns,
starts anew, and is asked about the first turn. The model is a stand-in without a network: put any chat model
in its place.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_packline import ContextBuilder
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph

from packline import ContextConfig, token_counter
from packline.chroma import MemoryStore
from packline.shortening import shorten

INSTRUCTIONS = "You are a helpful assistant. Use what you know of the user."
ANSWER_TOKENS = 60  # of an answer, in the memory
IMPORTANCE = 0.6


def context_aware_agent(
    model: BaseChatModel,
    *,
    memory: MemoryStore,
    sources: Sequence[object] = (),
    instructions: str = INSTRUCTIONS,
    config: ContextConfig | None = None,
) -> Any:
    """A graph over `{"messages": [...]}` that packs, answers and remembers.

    Args:
        memory: Asked on each turn, and told each exchange.
        sources: What else is asked: retrievers, vector stores, a `packline.chroma.KnowledgeBase`.
        config: Settings of the context; None: the defaults.
    """
    builder = ContextBuilder(config=config, sources=[*sources, memory])
    answer = RunnableLambda(question_of(instructions)) | builder | model | RunnableLambda(as_update)

    def remember(state: MessagesState) -> None:
        question, said = state["messages"][-2:]
        short = shorten(str(said.content), str(question.content), ANSWER_TOKENS, token_counter())
        memory.add(f"Told: {question.content}\nAnswered: {short}", importance=IMPORTANCE)

    graph = StateGraph(MessagesState)
    graph.add_node("answer", answer)
    graph.add_node("remember", remember)
    graph.add_edge(START, "answer")
    graph.add_edge("answer", "remember")
    graph.add_edge("remember", END)
    return graph.compile(checkpointer=InMemorySaver())


def question_of(instructions: str) -> Any:
    """From the state to what the builder takes."""

    def question(state: MessagesState) -> dict[str, object]:
        *history, asked = state["messages"]
        return {"question": asked, "chat_history": history, "system_instructions": instructions}

    return question


def as_update(message: BaseMessage) -> dict[str, list[BaseMessage]]:
    """From the answer to what the state takes."""
    return {"messages": [message]}


class Reader(BaseChatModel):
    """A stand-in for a model: answers with the line of its prompt that has most words of the task."""

    @property
    def _llm_type(self) -> str:
        return "reader"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        material, _, task = str(messages[-1].content).rpartition("[Task]\n")
        asked = set(re.findall(r"\w+", task.lower()))
        lines = [line for line in material.splitlines() if "?" not in line and "[" not in line]
        best = max(lines, key=lambda line: len(asked & set(re.findall(r"\w+", line.lower()))), default="")
        said = re.sub(r"^(Memory: Told|Answered|user|assistant): ", "", best)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said or "I see."))])


TURNS = [
    "My cat is called Miso and she is three years old.",
    "I work as a gardener in Bremen.",
    "The weather was awful all week.",
    "I planted forty tulips on Monday.",
    "My van needs new tyres before winter.",
    "Tomorrow I prune the apple trees of the school.",
    "I would like to learn Portuguese.",
    "The bakery on the corner has closed.",
    "I read a book on moss last night.",
    "My sister visits me on Sunday.",
]


def talk(agent: Runnable[Any, Any], text: str, thread: str) -> str:
    """One turn."""
    state = agent.invoke({"messages": [HumanMessage(text)]}, {"configurable": {"thread_id": thread}})
    return str(state["messages"][-1].content)


def main() -> None:
    """Ten turns, a restart, and a question about the first."""
    with tempfile.TemporaryDirectory() as folder:
        with MemoryStore(Path(folder), user_id="ann") as memory:
            agent = context_aware_agent(Reader(), memory=memory)
            for text in TURNS:
                print(f"user: {text}\nassistant: {talk(agent, text, 'first')}")
        print("--- started anew ---")
        with MemoryStore(Path(folder), user_id="ann") as memory:
            agent = context_aware_agent(Reader(), memory=memory)
            question = "What is my cat called?"
            print(f"user: {question}\nassistant: {talk(agent, question, 'second')}")


if __name__ == "__main__":
    main()
