"""A context from a manual, a conversation and memories: by the command line, then in a LangChain chain.

`make demo` runs this. Nothing is downloaded and no model is asked: the one at the end shows what it is given.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tomllib
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_packline import ContextBuilder

from packline import ContextConfig
from packline.chroma import KnowledgeBase, MemoryStore

HERE = Path(__file__).parent
DEMO = HERE / "demo"
QUESTION = (
    "The rain is too low since the update. Which tip volume did our rain gauge have before, and how do we "
    "calibrate it?"
)


def main() -> None:
    """Fill the stores, run the command line on them, then a chain."""
    with TemporaryDirectory() as scratch:
        store, memory = Path(scratch, "knowledge"), Path(scratch, "memory")
        remember(memory)
        by_command_line(store, memory)
        in_a_chain(store, memory)


def remember(path: Path) -> None:
    """Put the memories of the demo into a store."""
    with MemoryStore(path) as memories:
        for line in (DEMO / "memories.jsonl").read_text("utf-8").splitlines():
            entry = json.loads(line)
            memories.add(**{**entry, "timestamp": datetime.fromisoformat(entry["timestamp"])})


def by_command_line(store: Path, memory: Path) -> None:
    """`packline build`: the prompt, and after it the account of how it came about."""
    command = ["packline", "build", QUESTION, "--docs", "demo/manual", "--store", str(store)]
    command += ["--history", "demo/conversation.json", "--memory", str(memory)]
    command += ["--instructions", "@demo/instructions.txt", "--config", "demo/settings.toml", "--explain"]
    heading("On the command line")
    print(f"$ {shlex.join(command)}\n", flush=True)
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    run = [sys.executable, "-m", *command]
    done = subprocess.run(run, cwd=HERE, env=environment, capture_output=True, encoding="utf-8", check=False)
    print(done.stdout)
    print(done.stderr, flush=True)
    if done.returncode:
        sys.exit(done.returncode)


def in_a_chain(store: Path, memory: Path) -> None:
    """The same sources in an LCEL chain, with a chat model that shows what it was given."""
    heading("In a chain: ContextBuilder(...) | model | StrOutputParser()")
    answer = "You need the roof, so ask the caretaker for the key first. The tip volume was 0.23 mm. Then ..."
    model = GenericFakeChatModel(messages=iter([AIMessage(answer)]), callbacks=[Shown()])
    options = tomllib.loads((DEMO / "settings.toml").read_text("utf-8"))
    relevance = options.pop("relevance")
    with KnowledgeBase(store) as knowledge, MemoryStore(memory) as memories:
        builder = ContextBuilder(
            config=ContextConfig.from_dict(options), sources=[knowledge, memories], relevance=relevance
        )
        chain = builder | model | StrOutputParser()
        said = chain.invoke(
            {
                "question": QUESTION,
                "chat_history": json.loads((DEMO / "conversation.json").read_text("utf-8")),
                "system_instructions": (DEMO / "instructions.txt").read_text("utf-8").rstrip(),
            }
        )
    print(f"--- the model's answer, made up ---\n{said}")


class Shown(BaseCallbackHandler):
    """Prints the messages that a chat model is given."""

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **_: Any
    ) -> None:
        """Print each message under its role."""
        for message in messages[0]:
            print(f"--- {message.type} ---\n{message.text}\n")


def heading(text: str) -> None:
    """A line that can be found again."""
    print(f"\n=== {text} ===\n", flush=True)


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")  # type: ignore[union-attr]
    main()
