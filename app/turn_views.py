"""Makes the values widgets show from turns of a conversation. Pure functions."""

from __future__ import annotations

import time

from app.chat import Chat
from app.chat_turns import CAN_CONTINUE
from app.conversation import Node, Role, RunRecord, TurnStatus
from engine.types import Backend, FinishReason
from ui import format as fmt
from ui import strings
from ui.views import AttachmentView, FooterView, ToolStepView, TurnView


def turn_view(
    chat: Chat, node: Node, *, dropped: bool = False, versions: list[str] | None = None
) -> TurnView:
    """The view of one turn of the active path. `versions` are its siblings if known."""
    versions = versions or chat.conversation.versions(node.id)
    streaming = chat.answering == node.id
    return TurnView(
        node_id=node.id,
        role=str(node.role),
        text=node.text,
        thought=node.thought,
        attachments=tuple(
            AttachmentView(
                id=f"{node.id}/{i}",
                kind=a.kind,
                name=a.name,
                bytes=a.bytes,
                path=f"{chat.context.attachments_dir}/{a.file}",
            )
            for i, a in enumerate(node.attachments)
        ),
        tool_steps=tuple(
            ToolStepView(
                name=s.name,
                arguments=s.arguments_json,
                result=s.result_json,
                state=s.state,
                seconds=s.seconds,
            )
            for s in node.tool_steps
        ),
        footer=_footer(chat, node, streaming),
        version_index=versions.index(node.id),
        version_count=len(versions),
        status=str(node.status),
        error=node.error,
        error_details=chat.details(node.id),
        can_continue=node.role is Role.ASSISTANT
        and node.status in CAN_CONTINUE
        and bool(node.text),
        dropped=dropped,
        waiting=_waiting(chat) if streaming and node.status is TurnStatus.STREAMING else "",
    )


def _footer(chat: Chat, node: Node, streaming: bool) -> FooterView | None:
    if node.run is None or streaming:
        return None
    if not chat.context.show_footer():
        run = node.run
        return FooterView(form=run.form, form_ok=run.form_ok) if run.form else None
    return footer_view(node.run)


def path_views(chat: Chat) -> list[TurnView]:
    """Views of the whole active path; one pass over the tree, however long it is."""
    siblings: dict[tuple[str | None, Role], list[str]] = {}
    for node in chat.conversation.nodes.values():
        siblings.setdefault((node.parent, node.role), []).append(node.id)
    sent = {n.id for n in chat.conversation.sent_path()}
    return [
        turn_view(
            chat,
            node,
            dropped=node.id not in sent,
            versions=siblings[node.parent, node.role],
        )
        for node in chat.conversation.path()
    ]


def _waiting(chat: Chat) -> str:
    if at_tools := chat.context.at_tools.get(chat.key):
        return at_tools
    if chat.state == "prefill" and chat.loads_drafter:
        return "drafter"
    return str(chat.state) if chat.state in ("queued", "loading", "prefill", "stopping") else ""


def footer_view(run: RunRecord) -> FooterView:
    return FooterView(
        decode_tps=run.decode_tps,
        prefill_tps=run.prefill_tps,
        ttft_s=run.ttft_s,
        tokens=run.decode_tokens,
        tokens_per_step=run.tokens_per_step,
        stop_reason=strings.STOP_REASONS.get(run.reason, "")
        if run.reason is not FinishReason.TOOL_CALLS
        else "",
        speculative=run.speculative,
        backend=backend_words(run.backend),
        form=run.form,
        form_ok=run.form_ok,
        details=run_details(run),
    )


def run_details(run: RunRecord) -> tuple[tuple[str, str], ...]:
    """The run record as (label, value) pairs; what is not known is `—`."""
    used = fmt.context_part(run.context_used, run.context_total) or fmt.DASH
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.finished))
    return (
        ("Model", fmt.plain(run.model) or fmt.DASH),
        ("Backend", backend_words(run.backend) or fmt.DASH),
        ("Speculative", "on" if run.speculative else "off"),
        ("decode tok/s", fmt.tps(run.decode_tps)),
        ("prefill tok/s", fmt.prefill(run.prefill_tps)),
        ("TTFT", f"{fmt.fixed(run.ttft_s, 2)} s"),
        ("Time", f"{fmt.fixed(run.elapsed_s, 1)} s"),
        ("Prompt tokens", _count(run.prefill_tokens)),
        ("Answer tokens", _count(run.decode_tokens)),
        ("tokens/step (from the stream)", fmt.fixed(run.tokens_per_step, 2)),
        ("Context", used.removeprefix("context ")),
        ("Stop reason", strings.STOP_REASONS.get(run.reason, str(run.reason))),
        *((("Form", run.form),) if run.form else ()),
        *((("Not shown", ", ".join(run.unseen)),) if run.unseen else ()),
        ("Engine", f"LiteRT-LM {run.engine_version}"),
        ("Finished", when if run.finished else fmt.DASH),
    )


def backend_words(name: str) -> str:
    try:
        return strings.BACKENDS[Backend(name)]
    except ValueError:
        return name


def _count(value: int | None) -> str:
    return fmt.DASH if value is None else str(value)
