"""What the next comparison measures: the model in use, or another one chosen in the tab."""

from __future__ import annotations

from collections.abc import Callable

import resources
from app.bench import workloads
from app.bench.records import DEPTHS, Plan, Workload
from app.model_names import display_name
from app.services import Services
from engine.errors import EngineError
from engine.types import Backend, ModelInfo
from ui import bench_strings as words
from ui import error_words, strings
from ui.bench_views import BenchChoice, TargetView
from ui.dialogs import ask_file
from ui.main_window import MainWindow

SYNTHETIC_TOKENS = 256


class BenchTarget:
    """Main thread. Follows the model in use until another one is chosen."""

    def __init__(self, services: Services, on_changed: Callable[[], None]) -> None:
        self._services = services
        self._on_changed = on_changed
        self._own_path = ""
        self._path = ""
        self._backend = Backend.CPU
        self._info: ModelInfo | None = None
        self._problem = ""

    def view(self) -> TargetView:
        info = self._info
        name = display_name(self._path) if self._path else ""
        backends = info.backends if info else (Backend.CPU, Backend.GPU)
        problem = self._problem
        if not self._path:
            problem = words.NO_MODEL_TEXT
        elif info is not None and info.supports_mtp is False:
            problem = words.NO_DRAFTER.format(model=name)
        return TargetView(
            models=self._models(),
            path=self._path,
            name=name,
            backend=self._backend,
            backends=backends,
            problem=problem,
        )

    async def follow(self) -> None:
        """Takes over the model in use, unless the person chose another one."""
        picked = self._services.models.picked
        if picked is not None and not self._own_path:
            await self._take(picked.model_path, picked.backend)

    async def choose(self, path: str, backend: Backend | None) -> None:
        """Another model or backend; an empty path means the model in use."""
        picked = self._services.models.picked
        in_use = picked.model_path if picked else str(resources.DEMO_MODEL)
        own = path or in_use
        self._own_path = "" if own == in_use and backend in (None, self._in_use()) else own
        await self._take(own, backend or self._in_use())

    async def open_file(self, window: MainWindow) -> None:
        """Asks for a model file with the standard dialog."""
        filters = f"{strings.MODEL_FILES};;{strings.ALL_FILES}"
        for path in await ask_file(window, strings.OPEN_FILE, filters):
            await self.choose(path, None)

    async def plan(self, choice: BenchChoice) -> Plan:
        """The plan for what is ticked, with the load settings of chats."""
        options = self._services.models.options_for(self._path, self._backend)
        if self._info is not None:
            options = self._services.models.fitting(options, self._info)
        prompts = workloads.suite((Workload(w) for w in choice.workloads), choice.per_class)
        if choice.own_prompt:
            prompts += (workloads.own(choice.own_prompt),)
        return Plan(
            model_path=self._path,
            backend=self._backend,
            prompts=prompts,
            runs=choice.runs,
            context_tokens=options.context_tokens,
            threads=options.threads,
            cache=options.cache,
            cache_dir=options.cache_dir,
            gpu_float16=options.gpu_float16,
            depths=DEPTHS if choice.depth else (),
            prefill_tokens=SYNTHETIC_TOKENS if choice.synthetic else 0,
            decode_tokens=SYNTHETIC_TOKENS if choice.synthetic else 0,
        )

    def _in_use(self) -> Backend:
        picked = self._services.models.picked
        return picked.backend if picked else Backend.CPU

    def _models(self) -> tuple[tuple[str, str], ...]:
        settings = self._services.settings.value
        picked = self._services.models.picked
        paths = [picked.model_path] if picked else []
        paths += [self._path, *settings.recent_models, str(resources.DEMO_MODEL)]
        return tuple((path, display_name(path)) for path in dict.fromkeys(p for p in paths if p))

    async def _take(self, path: str, backend: Backend) -> None:
        if (path, backend) == (self._path, self._backend) and self._info is not None:
            return
        self._path, self._backend = path, backend
        self._info, self._problem = None, ""
        try:
            info = await self._services.facts.inspect(path)
        except EngineError as error:
            self._problem = error_words.error(error.code, error.params).sentence
        else:
            if path != self._path:
                return
            self._info = info
            if self._backend not in info.backends:
                self._backend = info.backends[0]
        self._on_changed()
