"""Cards of what is not here yet: the catalogue's entries, downloads, and left-overs. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from app.library.catalogue import CatalogueEntry
from app.library.download_types import DownloadState, DownloadStatus
from app.library.failures import Failure
from app.library.fit import Fit, judge_download
from app.library.knowledge import Knowledge
from ui import format as fmt
from ui import model_strings as words
from ui.model_views import ModelRowView, RowAction


def entry_row(entry: CatalogueEntry, know: Knowledge, order: int) -> ModelRowView:
    status = know.downloads.get(entry.key)
    share, text, actions = progress(status)
    badges = _entry_badges(entry)
    fit = None
    if know.machine is not None:
        fit = judge_download(entry.bytes, know.machine, entry.min_memory_bytes)
    size = fmt.size(entry.bytes)
    memory = words.NEEDS_MEMORY.format(size=_round_size(entry.min_memory_bytes))
    verdict = words.FITS[fit] if fit else ""
    if entry.gated:
        facts: tuple[str, ...] = (size, words.LICENCE_FIRST, "" if fit is Fit.FITS else verdict)
    else:
        facts = (size, words.CONTEXT.format(tokens=entry.context), memory, verdict)
    return ModelRowView(
        key=entry.key,
        group="catalogue",
        name=entry.name,
        path=entry.repo,
        badges=badges,
        facts=facts,
        progress=share,
        progress_text=text,
        progress_level=_level(status),
        actions=actions or (RowAction("download", words.DOWNLOAD),),
        menu=(RowAction("page", words.OPEN_PAGE), RowAction("token", words.TOKEN)),
        size=entry.bytes,
        abilities=frozenset(badges) | ({"fits"} if fit is Fit.FITS else frozenset()),
        order=order,
    )


def _round_size(count: int) -> str:
    return f"{count // 10**9} GB" if count % 10**9 == 0 else fmt.size(count)


def _entry_badges(entry: CatalogueEntry) -> tuple[str, ...]:
    named = (
        ("MTP", entry.mtp),
        ("thinking", entry.thinking),
        ("vision", entry.image),
        ("audio", entry.audio),
        ("text", not (entry.image or entry.audio)),
    )
    return tuple(name for name, there in named if there)


def download_row(status: DownloadStatus, know: Knowledge) -> ModelRowView:
    """A download added by hand: it has a card of its own among the local models."""
    share, text, actions = progress(status)
    return ModelRowView(
        key=status.key,
        group="local",
        name=fmt.plain(status.name, 120),
        path=status.target,
        facts=(fmt.size(status.total),) if status.total else (),
        progress=share,
        progress_text=text,
        progress_level=_level(status),
        actions=actions,
        menu=(RowAction("page", words.OPEN_PAGE), RowAction("token", words.TOKEN)),
        size=status.total or 0,
        order=1,
    )


def orphan_row(path: str) -> ModelRowView:
    return ModelRowView(
        key=path,
        group="local",
        name=Path(path).name,
        path=path,
        problem=words.ORPHAN,
        problem_level="muted",
        actions=(RowAction("delete", words.DELETE),),
        order=3,
    )


def progress(
    status: DownloadStatus | None,
) -> tuple[float | None, str, tuple[RowAction, ...]]:
    """Share of the bar, its words, and the buttons of a download."""
    if status is None:
        return None, "", ()
    amount = words.amount(status.done, status.total)
    share = min(1.0, status.done / status.total) if status.total else -1.0
    note = words.NOTES.get(status.note, "")
    cancel = RowAction("cancel_download", words.CANCEL)
    pause = RowAction("pause", words.PAUSE)
    match status.state:
        case DownloadState.QUEUED:
            return share if status.done else 0.0, words.QUEUED, (pause, cancel)
        case DownloadState.CONNECTING:
            return share if status.done else 0.0, words.CONNECTING, (pause, cancel)
        case DownloadState.RUNNING:
            return share, _running(status, amount, note), (pause, cancel)
        case DownloadState.WAITING:
            return share, _waiting(status), (RowAction("resume", words.TRY_NOW), pause, cancel)
        case DownloadState.VERIFYING:
            return 1.0, words.VERIFYING, (cancel,)
        case DownloadState.PAUSED:
            text = words.PAUSED.format(done=amount)
            return share, text, (RowAction("resume", words.RESUME, primary=True), cancel)
        case DownloadState.FAILED:
            share_kept = share if status.done else None
            return share_kept, sentence(status.failure), (*ways_on(status.failure), cancel)
        case _:
            return None, "", ()


def _level(status: DownloadStatus | None) -> str:
    return "warn" if status is not None and status.failure is not None else ""


def _running(status: DownloadStatus, amount: str, note: str) -> str:
    parts = [amount]
    if status.stalled_s is not None:
        parts.append(words.STALLED.format(seconds=int(status.stalled_s)))
    elif status.speed is not None:
        parts.append(words.rate(status.speed))
        if status.seconds_left is not None:
            parts.append(words.left(status.seconds_left))
    return fmt.DOT.join([*parts, note] if note else parts)


def _waiting(status: DownloadStatus) -> str:
    seconds = max(1, round(status.waiting_s or 0))
    return f"{sentence(status.failure)} {words.WAITING.format(seconds=seconds).capitalize()}."


def sentence(failure: Failure | None) -> str:
    return "" if failure is None else words.failure(failure.code, failure.params)


_WAY_LABELS: Mapping[str, str] = {
    "token": words.TOKEN,
    "resume": words.TRY_AGAIN,
    "anyway": words.DOWNLOAD_ANYWAY,
    "page": words.OPEN_PAGE,
}


def ways_on(failure: Failure | None) -> tuple[RowAction, ...]:
    """The buttons of a failure, the first one stressed."""
    code = failure.code if failure else ""
    labels = dict(_WAY_LABELS)
    if code == "licence_needed":
        labels["page"] = words.OPEN_LICENCE
    return tuple(
        RowAction(way, labels[way], primary=place == 0)
        for place, way in enumerate(words.ways_on(code))
    )
