"""What is said when a load fails, an engine dies, or a load needed a fallback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from app import crash_report, wording
from app.model_names import display_name
from app.notices import Action, Level, Notice, Notices
from engine.errors import EngineCrashed, EngineError, ModelFileError
from engine.types import Backend, LoadedModel, LoadOptions, ModelInfo
from ui import format as fmt
from ui import strings_core as words
from ui import strings_report as report_words

if TYPE_CHECKING:
    from app.engine_controller import EngineController

_KEYS = ("load_failed", "crashed", "not_auto_loaded", "unresponsive", "loaded_note", "model_gone")


class EngineNotices:
    """Main thread."""

    def __init__(self, owner: EngineController, notices: Notices) -> None:
        self._owner = owner
        self._notices = notices
        self.report: Callable[[], None] | None = None
        """Set by the problem report's owner: opens it."""

    def clear(self) -> None:
        """A new load makes what was said about the old one out of date."""
        for key in _KEYS:
            self._notices.dismiss(key)

    def load_failed(
        self, options: LoadOptions, problem: EngineError, info: ModelInfo | None
    ) -> None:
        text = wording.explain(problem, options, info)
        owner = self._owner
        actions = [Action(words.OTHER_FILE, lambda: owner.keep(owner.flow.pick()))]
        if not isinstance(problem, ModelFileError):
            if options.backend is Backend.CPU:
                actions += self._cacheless(options)
            actions += self._cpu(options, info)
        self._notices.post(
            Notice(
                "load_failed",
                text.sentence,
                title=text.headline,
                level=Level.ERROR,
                detail=text.details,
                actions=tuple(actions),
            )
        )

    def crashed(self, options: LoadOptions, problem: EngineCrashed, info: ModelInfo | None) -> None:
        text = wording.explain(problem, options, info)
        exit_words = problem.params.get("exit", "")
        cause = crash_report.cause(exit_words, problem.detail)
        sentence = text.sentence
        if cause:
            sentence += " " + report_words.LIKELY.format(cause=report_words.CAUSES[cause])
        restart = Action(words.RESTART_ENGINE, self._with(options), primary=True)
        show = Action(words.SHOW_LOG, self._owner.show_log, keep=True)
        self._notices.post(
            Notice(
                "crashed",
                sentence,
                title=text.headline,
                level=Level.ERROR,
                detail=text.details,
                actions=(
                    *self._offer_report(),
                    show,
                    *(self._cacheless(options) if cause in ("cache", "disk_full") else ()),
                    *self._cpu(options, info),
                    restart,
                ),
            )
        )

    def not_auto_loaded(self, options: LoadOptions, info: ModelInfo, exit_words: str) -> None:
        anyway = Action(words.LOAD_ANYWAY, self._with(options))
        owner = self._owner
        other = Action(words.OTHER_FILE, lambda: owner.keep(owner.flow.pick()), primary=True)
        text = words.NOT_AUTO_LOADED.format(
            name=fmt.plain(display_name(info.path)),
            backend=wording.backend_name(options.backend),
            exit=exit_words,
        )
        self._notices.post(
            Notice(
                "not_auto_loaded",
                text,
                title=words.NOT_AUTO_LOADED_TITLE,
                level=Level.WARNING,
                actions=(*self._offer_report(), anyway, *self._cpu(options, info), other),
            )
        )

    def unresponsive(self, seconds: str) -> None:
        self._notices.post(
            Notice(
                "unresponsive",
                words.UNRESPONSIVE.format(seconds=seconds),
                title=words.UNRESPONSIVE_TITLE,
                level=Level.WARNING,
                seconds=12,
            )
        )

    def model_gone(self, path: str) -> None:
        text = words.MODEL_GONE.format(path=fmt.plain(path))
        self._notices.post(
            Notice("model_gone", text, title=words.MODEL_GONE_TITLE, level=Level.WARNING)
        )

    def loaded(self, model: LoadedModel) -> None:
        self.clear()
        said = [words.LOADED_NOTES[n] for n in model.notes if n in words.LOADED_NOTES]
        if said:
            name = fmt.plain(Path(model.options.model_path).name)
            self._notices.post(Notice("loaded_note", " ".join(said), title=name, seconds=15))

    def _offer_report(self) -> list[Action]:
        if self.report is None:
            return []
        return [Action(report_words.SAVE_REPORT, self.report, keep=True)]

    def _cacheless(self, options: LoadOptions) -> list[Action]:
        if options.cache == "no":
            return []
        return [Action(words.CACHE_OFF, self._with(options, cache="no"))]

    def _cpu(self, options: LoadOptions, info: ModelInfo | None) -> list[Action]:
        """The offer to use the CPU, where that is something else and possible."""
        possible = info is None or Backend.CPU in info.backends
        if options.backend is Backend.CPU or not possible:
            return []
        return [Action(words.USE_CPU, self._with(options, backend=Backend.CPU))]

    def _with(self, options: LoadOptions, **changes: object) -> Callable[[], None]:
        def run() -> None:

            changed = msgspec.structs.replace(options, **changes)
            self._owner.keep(self._owner.load(changed))

        return run
