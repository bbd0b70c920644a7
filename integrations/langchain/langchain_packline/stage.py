"""Stage: what all Runnables of packline have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar, Generic, TypeVar, cast

from langchain_core.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.load.serializable import SerializedConstructor, SerializedNotImplemented
from langchain_core.runnables import RunnableConfig, RunnableSerializable
from langchain_core.runnables.configurable import RunnableConfigurableFields
from langchain_core.runnables.utils import AddableDict, AnyConfigurableField
from pydantic import BaseModel, RootModel, create_model

from langchain_packline.dumping import plain
from langchain_packline.options import STRICT, Options
from langchain_packline.scoring import Configurable
from packline import Draft, Gathered, Selection

__all__ = ["Stage", "described"]

Input = TypeVar("Input")
Output = TypeVar("Output")


class Stage(Options, RunnableSerializable[Input, Output], Generic[Input, Output]):
    """What all stages have in common: how they are called, traced, changed, dumped and pickled."""

    model_config = STRICT

    def _run(self, value: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig) -> Output:
        raise NotImplementedError

    async def _arun(
        self, value: Any, run_manager: AsyncCallbackManagerForChainRun, config: RunnableConfig
    ) -> Output:
        raise NotImplementedError

    _run_type: ClassVar[str | None] = None
    _takes: ClassVar[Any] = Any
    _gives: ClassVar[Any] = Any

    def invoke(
        self,
        input: Input,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Output:
        """The result for one input; `options` are fields of this Runnable, set for this call."""
        stage = self._with(options)
        return stage._call_with_config(stage._run, input, config, run_type=self._run_type)

    async def ainvoke(
        self,
        input: Input,  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Output:
        """The same, awaited."""
        stage = self._with(options)
        return await stage._acall_with_config(stage._arun, input, config, run_type=self._run_type)

    def transform(
        self,
        input: Iterator[Input],  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> Iterator[Output]:
        """The result for an input that comes in pieces, once they are all there."""
        pieces = list(input)
        if pieces:
            yield from self.stream(_whole(pieces), config, **options)

    async def atransform(
        self,
        input: AsyncIterator[Input],  # noqa: A002
        config: RunnableConfig | None = None,
        **options: Any,
    ) -> AsyncIterator[Output]:
        """The same, awaited."""
        pieces = [piece async for piece in input]
        if pieces:
            async for output in self.astream(_whole(pieces), config, **options):
                yield output

    def configurable_fields(self, **kwargs: AnyConfigurableField) -> RunnableSerializable[Input, Output]:
        """The same, with fields that a config may set for one call."""
        configurable = super().configurable_fields(**kwargs)
        assert isinstance(configurable, RunnableConfigurableFields)
        return Configurable(default=self, fields=configurable.fields)

    @property
    def InputType(self) -> Any:  # noqa: N802
        return self._takes

    @property
    def OutputType(self) -> Any:  # noqa: N802
        return self._gives

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """What it takes; results of the core, which are no JSON, are described."""
        own = _DESCRIBED.get(self._takes)
        return own or cast("type[BaseModel]", super().get_input_schema(config))

    def get_output_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """What it gives, in the same way."""
        own = _DESCRIBED.get(self._gives)
        return own or cast("type[BaseModel]", super().get_output_schema(config))

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Yes, where it holds nothing but settings."""
        return True

    def to_json(self) -> SerializedConstructor | SerializedNotImplemented:
        """The constructor's arguments, where all are plain data; else a description without contents."""
        try:
            kwargs = {name: plain(value) for name, value in self.given().items() if value is not None}
        except TypeError:
            return self.to_json_not_implemented()
        return {"lc": 1, "type": "constructor", "id": self.lc_id(), "kwargs": kwargs}


def _whole(pieces: list[Any]) -> Any:
    """The input whose pieces these are: what can be added is, of what cannot the last counts."""
    whole: Any = None
    for piece in (AddableDict(piece) if isinstance(piece, dict) else piece for piece in pieces):
        if whole is None:
            whole = piece
            continue
        try:
            whole = whole + piece
        except TypeError:
            whole = piece
    return whole


def described(name: str, description: str) -> type[BaseModel]:
    """A schema for results of the core, which are no JSON."""
    return create_model(name, __base__=RootModel[Any], __doc__=description)


_DESCRIBED = {
    Gathered: described("Gathered", "The candidates, as `packline.Gathered`."),
    Selection: described("Selection", "What was chosen of them, as `packline.Selection`."),
    Draft: described("Draft", "The prompt before it is made to fit, as `packline.Draft`."),
}
