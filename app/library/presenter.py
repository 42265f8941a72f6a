"""Turns what is known of models into the cards of the Models tab. Pure: values in, views out.

The states are those a person needs to tell apart: not downloaded, waiting, downloading,
stalled, paused, failed, checking, here, damaged, loading, loaded, load failed.
"""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from app.auto_spec import OnCard
from app.library.download_cards import download_row, entry_row, orphan_row, progress
from app.library.download_types import DownloadStatus
from app.library.fit import Fit, judge
from app.library.knowledge import Engine, Knowledge
from app.library.local import LocalModel, Source
from app.wording import explain
from engine.types import LIBRARY_VERSION, FileState, ModelInfo
from ui import format as fmt
from ui import model_strings as words
from ui import strings
from ui.model_views import ModelRowView, RowAction

SEPARATOR = RowAction("-", "")


def rows(know: Knowledge) -> tuple[ModelRowView, ...]:
    """All cards: what is here, downloads that belong to no catalogue entry, the catalogue."""
    here = _catalogue_paths(know)
    local = [local_row(m, know) for m in know.models]
    entry_keys = {e.key for e in know.catalogue}
    replaced = {m.path for m in know.models}
    others = [
        download_row(s, know)
        for s in know.downloads.values()
        if s.key not in entry_keys and s.target not in replaced
    ]
    orphans = [orphan_row(p) for p in know.orphans]
    offered = [
        entry_row(e, know, order)
        for order, e in enumerate(know.catalogue)
        if e.key not in here or e.key in know.downloads
    ]
    return (*local, *others, *orphans, *offered)


def _catalogue_paths(know: Knowledge) -> dict[str, str]:
    """Catalogue keys that are on this computer, complete, and where."""
    found: dict[str, str] = {}
    for model in know.models:
        if not model.loadable:
            continue
        origin = know.origins.get(model.path)
        for entry in know.catalogue:
            same_file = Path(model.path).name == Path(entry.file).name
            if origin == entry.key or (same_file and model.bytes == entry.bytes):
                found[entry.key] = model.path
    return found


# ---- a file on this computer ----


def local_row(model: LocalModel, know: Knowledge) -> ModelRowView:
    info, engine = model.info, know.engine
    download = _download_to(model.path, know)
    problem, level = _problem(model)
    share, progress_text, download_actions = progress(download)
    shown = badges(info)
    fits = _fits(model, know)
    return ModelRowView(
        key=model.path,
        group="local",
        name=fmt.plain(model.name, 120),
        path=model.path,
        badges=shown,
        facts=_local_facts(model, know),
        problem=problem,
        problem_level=level,
        progress=share,
        progress_text=progress_text,
        actions=download_actions or _local_actions(model, engine, know),
        menu=_local_menu(model, engine),
        size=model.bytes,
        used=know.used.get(model.path, 0.0),
        speedup=_speculation(model, know).speedup,
        abilities=frozenset(shown) | ({"fits"} if fits else frozenset()),
        order=0 if engine.loaded == model.path else 2 if problem else 1,
    )


def _download_to(path: str, know: Knowledge) -> DownloadStatus | None:
    return next((s for s in know.downloads.values() if s.target == path), None)


def _fits(model: LocalModel, know: Knowledge) -> bool:
    return know.machine is not None and judge(model.bytes, know.machine) is Fit.FITS


def badges(info: ModelInfo | None) -> tuple[str, ...]:
    if info is None:
        return ()
    words_of = [str(m) for m in info.modalities if m != "text"]
    named = [
        "MTP" if info.supports_mtp else "",
        "thinking" if info.supports_thinking else "",
        *words_of,
        "tools" if info.supports_tools else "",
        "" if words_of else "text",
    ]
    return tuple(n for n in named if n)


def _local_facts(model: LocalModel, know: Knowledge) -> tuple[str, ...]:
    info, engine = model.info, know.engine
    size, cache = fmt.size(model.bytes), know.cache_bytes.get(model.path, 0)
    facts = [words.CACHE_SUFFIX.format(size=size, cache=fmt.size(cache)) if cache else size]
    if info is not None and info.max_context:
        facts.append(words.CONTEXT.format(tokens=info.max_context))
    facts.append(source_words(model))
    if engine.loading == model.path:
        facts.append(words.LOADING_HERE)
    elif engine.loaded == model.path and engine.backend is not None:
        facts.append(words.LOADED_ON.format(backend=strings.BACKENDS[engine.backend]))
    elif know.machine is not None and not _fits(model, know):
        facts.append(words.FITS[judge(model.bytes, know.machine)])
    if model.path in know.problems:
        facts.append(words.KNOWN_PROBLEM)
    if info is not None and info.supports_mtp:
        facts.append(_speculation(model, know).text)
    if model.path in engine.failed and engine.loaded != model.path:
        facts.append(words.LOAD_FAILED.format(reason=engine.failed[model.path]))
    elif know.used.get(model.path) and engine.loaded != model.path:
        facts.append(words.LAST_USED.format(when=when(know.used[model.path])))
    return tuple(facts)


def source_words(model: LocalModel) -> str:
    folder = fmt.plain(Path(model.path).parent.name, 40)
    return words.SOURCES[model.source].format(folder=folder)


def _problem(model: LocalModel) -> tuple[str, str]:
    if model.problem is not None:
        error = model.problem
        named = {"path": model.path, "name": Path(model.path).name, **error.params}
        return explain(msgspec.structs.replace(error, params=named)).sentence, "bad"
    if model.info is None:
        return "", ""
    if model.info.state is FileState.INCOMPLETE:
        have, want = f"{model.info.file_bytes:,}", f"{model.info.expected_bytes:,}"
        return words.INCOMPLETE.format(have=have, want=want), "muted"
    if model.info.state is FileState.NEEDS_RUNTIME:
        wanted = fmt.plain(model.info.min_runtime or fmt.DASH, 30)
        text = words.NEEDS_RUNTIME.format(wanted=wanted, have=LIBRARY_VERSION)
        return f"{fmt.size(model.bytes)} · {text}", "warn"
    return "", ""


def _local_actions(model: LocalModel, engine: Engine, know: Knowledge) -> tuple[RowAction, ...]:
    if engine.loading == model.path:
        return (RowAction("cancel_load", words.CANCEL),)
    measure = _measure_first(model, know)
    if engine.loaded == model.path:
        return (*measure, RowAction("unload", words.UNLOAD))
    if model.loadable:
        return (*measure, RowAction("load", words.LOAD, primary=True))
    if model.info is not None and model.info.state is FileState.NEEDS_RUNTIME:
        return (RowAction("try_anyway", words.TRY_ANYWAY),)
    if _can_fetch_again(model, know):
        return (RowAction("download_again", words.DOWNLOAD_AGAIN),)
    return ()


def _speculation(model: LocalModel, know: Knowledge) -> OnCard:
    return know.speculation.get(model.path, OnCard())


def _measure_first(model: LocalModel, know: Knowledge) -> tuple[RowAction, ...]:
    """*not measured yet* comes with the button that changes it."""
    able = model.loadable and model.info is not None and model.info.supports_mtp
    if not able or _speculation(model, know).measured:
        return ()
    return (RowAction("measure", words.MEASURE),)


def _can_fetch_again(model: LocalModel, know: Knowledge) -> bool:
    if model.source is not Source.OWN:
        return False
    name, want = Path(model.path).name, model.info.expected_bytes if model.info else 0
    known = any(Path(e.file).name == name or e.bytes == want for e in know.catalogue)
    return known or model.path in know.origins


def _local_menu(model: LocalModel, engine: Engine) -> tuple[RowAction, ...]:
    entries = [RowAction("details", words.DETAILS)] if model.info is not None else []
    if model.loadable and model.info is not None and model.info.supports_mtp:
        entries.append(RowAction("measure", words.MEASURE))
    entries += [
        RowAction("show", words.SHOW_IN_FOLDER),
        RowAction("copy_path", words.COPY_PATH),
        RowAction("clear_cache", words.CLEAR_CACHE, reason=_in_use(model, engine)),
    ]
    if model.source in {Source.OPENED, Source.CLI, Source.HUB_CACHE} and model.loadable:
        entries.append(RowAction("copy_in", words.COPY_IN))
    if model.source is Source.OPENED:
        entries += [SEPARATOR, RowAction("forget", words.FORGET)]
    elif not model.source.read_only:
        entries += [SEPARATOR, RowAction("delete", words.DELETE, danger=True)]
    return tuple(entries)


def _in_use(model: LocalModel, engine: Engine) -> str:
    return words.CACHE_IN_USE if model.path in {engine.loaded, engine.loading} else ""


def when(moment: float, now: float | None = None) -> str:
    """`today`, `yesterday`, `5 days ago`, then the date."""
    days = int(((now or time.time()) - moment) // 86400)
    if days < 1:
        return "today"
    if days == 1:
        return "yesterday"
    if days < 30:
        return f"{days} days ago"
    then = time.localtime(moment)
    return f"{then.tm_mday} {time.strftime('%b %Y', then)}"
