"""Questions and structured answers of the Tools tab, on the one engine of the program.

Main thread. One question or structured answer at a time; chats queue with it in the engine
service as usual. Tells what to show through callbacks; knows no widget.
"""

from __future__ import annotations

import asyncio
import itertools
import uuid
from collections.abc import Callable, Coroutine
from typing import Any

from app.kept_tasks import tell_failure
from app.services import Services
from app.tools.calls import Ask, CallRunner
from app.tools.checking import verdict
from app.tools.loop import DEFAULT_SAMPLING, EventKind, LoopEvent, Question, QuestionLoop
from app.tools.regex_wire import NotSpellable
from app.tools.registry import Registry
from app.tools.structured import explain as explain_form
from app.tools.structured import to_wire
from app.tools_views import numbers
from app.wording import explain
from engine.errors import EngineError, GenerationError
from engine.types import (
    Constraint,
    FinishReason,
    GenerateRequest,
    LoadOptions,
    Message,
    ModelInfo,
    Outcome,
    Sampling,
    TextBatch,
    TextPart,
)
from ui import tool_strings as words
from ui.tool_views import FormResultView

FORM_SAMPLING = Sampling(max_output_tokens=512)

run_ids = itertools.count(1 << 40)
"""Far from the ids of chats, which count from 1."""


class Asking:
    """See the module text. `state` is idle, busy or stopping."""

    def __init__(
        self,
        services: Services,
        registry: Registry,
        ask: Ask,
        *,
        on_state: Callable[[], None],
        on_event: Callable[[LoopEvent], None],
        on_result: Callable[[FormResultView], None],
    ) -> None:
        self._services = services
        self._registry = registry
        self._on_state = on_state
        self._on_event = on_event
        self._on_result = on_result
        self._options: LoadOptions | None = None
        self._task: asyncio.Task[None] | None = None
        self._form_run: int | None = None
        self._loop = QuestionLoop(
            self._generate,
            services.engine.cancel,
            CallRunner(registry, ask),
            lambda: next(run_ids),
            on_event,
        )
        self.state = "idle"

    @property
    def options(self) -> LoadOptions | None:
        """The model of the last question."""
        return self._options

    def question(self, text: str) -> None:
        self._start(self._question(text))

    def structured(self, text: str, form: Constraint) -> None:
        self._start(self._structured(text, form))

    def stop(self) -> None:
        """Stops whatever runs, at any step; idempotent."""
        if self.state == "busy":
            self._set_state("stopping")
            self._loop.stop()
            if self._form_run is not None:
                self._services.engine.cancel(self._form_run)

    async def wait(self) -> None:
        if self._task is not None:
            await asyncio.wait({self._task})

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        if self.state != "idle":
            work.close()
            return
        self._set_state("busy")
        self._task = self._services.loop.create_task(self._until_idle(work))
        self._task.add_done_callback(tell_failure)

    async def _until_idle(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        finally:
            self._form_run = None
            self._set_state("idle")

    def _set_state(self, state: str) -> None:
        self.state = state
        self._on_state()

    async def _model(self) -> tuple[LoadOptions, ModelInfo | None]:
        """What is sent to. Raises `EngineError` without a model."""
        self._options = self._services.chat_context.options()
        if self._options is None:
            raise GenerationError("not_loaded")
        return self._options, await self._services.facts.find(self._options.model_path)

    async def _question(self, text: str) -> None:
        try:
            _, info = await self._model()
        except EngineError as problem:
            self._on_event(LoopEvent(kind=EventKind.QUESTION, text=text))
            self._on_event(LoopEvent(kind=EventKind.ERROR, error=problem.info()))
            return
        if info is not None and not info.supports_tools:
            return
        await self._loop.ask(
            Question(
                text=text,
                tools=self._registry.specs(),
                sampling=DEFAULT_SAMPLING,
                speculative=self._speculative(info),
            )
        )

    async def _generate(
        self, request: GenerateRequest, on_text: Callable[[TextBatch], None]
    ) -> Outcome:
        """Engine errors become outcomes, so that the log shows them where they happened."""
        options = self._options
        try:
            if options is None:
                raise GenerationError("not_loaded")
            return await self._services.engine.generate(request, options, on_text)
        except EngineError as problem:
            return Outcome(run_id=request.run_id, reason=FinishReason.ERROR, error=problem.info())

    def _speculative(self, info: ModelInfo | None) -> bool:
        """As the header says; never for a file without a drafter."""
        return bool(info is not None and info.supports_mtp and self._services.state.speculative)

    async def _structured(self, text: str, form: Constraint) -> None:
        self._on_result(FormResultView(busy=True, sentence=words.WAITING))
        try:
            _, info = await self._model()
            wire = to_wire(form, info)
        except NotSpellable as problem:
            self._on_result(FormResultView(sentence=str(problem), failed=True))
            return
        except EngineError as problem:
            said = explain(problem)
            self._on_result(FormResultView(sentence=said.sentence, failed=True))
            return
        note = words.NOTES["speculation_off"] if self._speculative(info) else ""
        written = ""

        def on_text(batch: TextBatch) -> None:
            nonlocal written
            written += batch.text
            self._on_result(
                FormResultView(text=written, busy=True, note=note, sentence=words.WAITING)
            )

        self._form_run = next(run_ids)
        request = GenerateRequest(
            run_id=self._form_run,
            chat_key=f"form-{uuid.uuid4().hex}",
            message=Message(role="user", parts=(TextPart(text),)),
            sampling=FORM_SAMPLING,
            constraint=wire,
            keep=False,
        )
        outcome = await self._generate(request, on_text)
        self._on_result(await self._form_result(form, outcome, note))

    async def _form_result(self, form: Constraint, outcome: Outcome, note: str) -> FormResultView:
        error = outcome.error
        if error is not None:
            said = explain(error, self._options)
            failed_form = error.code == "constraint_failed"
            return FormResultView(
                text=outcome.text,
                sentence=explain_form(error.detail) if failed_form else said.sentence,
                failed=True,
                note=note,
                details=error.detail,
            )
        found = await verdict(form, outcome.text, outcome.reason)
        return FormResultView(
            text=found.pretty,
            sentence=found.sentence,
            valid=found.ok,
            note=note,
            numbers=numbers(outcome),
        )
