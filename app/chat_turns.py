"""Pure steps on a conversation for one send: what goes to the engine and what comes back.

No engine, no loop, no Qt. Owned by the caller's thread.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass

import msgspec

from app.conversation import (
    Attachment,
    Conversation,
    Node,
    Role,
    RunRecord,
    TurnStatus,
    messages,
    new_id,
)
from app.model_names import display_name
from engine.types import (
    LIBRARY_VERSION,
    Constraint,
    FinishReason,
    GenerateRequest,
    LoadedModel,
    LoadOptions,
    Message,
    Outcome,
    SpecMode,
    TextBatch,
    TextPart,
    ToolSpec,
    Unseen,
)

CONTINUE_TEXT = (
    "Continue your last answer exactly where it stopped. Do not repeat anything and do not "
    "comment; write only what comes next."
)
"""Sent as the user's message to continue a cut answer; never stored, never shown."""

CAN_CONTINUE = frozenset(TurnStatus) - {TurnStatus.DONE, TurnStatus.STREAMING}
"""Answers that were cut, whoever cut them; also by an engine or a program that died."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Everything needed to undo a removal: the tree as it was before."""

    nodes: dict[str, Node]
    selected: dict[str, str]
    gone: tuple[str, ...]


def add_user(
    conversation: Conversation,
    parent: str | None,
    text: str,
    attachments: tuple[Attachment, ...] = (),
) -> Node:
    node = Node(
        id=new_id(),
        parent=parent,
        role=Role.USER,
        text=text,
        attachments=attachments,
        created=time.time(),
    )
    return conversation.add(node)


def add_answer(conversation: Conversation, parent: str) -> Node:
    node = Node(
        id=new_id(),
        parent=parent,
        role=Role.ASSISTANT,
        status=TurnStatus.STREAMING,
        created=time.time(),
    )
    return conversation.add(node)


def build_request(
    conversation: Conversation,
    answer: Node,
    *,
    run_id: int,
    speculative: bool,
    thinking: bool,
    attachments_dir: str,
    tools: tuple[ToolSpec, ...] = (),
    constraint: Constraint | None = None,
    continuing: bool = False,
) -> GenerateRequest:
    """The send that makes (or continues) `answer`, which is on the active path.

    While a tool answer is on its way the last message is of role "tool".
    """
    nodes = conversation.sent_path(until=None if continuing else answer.id)
    if continuing or answer.tool_steps:
        cut = [n.id for n in nodes].index(answer.id) + 1 if continuing else len(nodes)
        nodes = nodes[:cut] if continuing else [*nodes, answer]
    sent = list(messages(nodes, attachments_dir))
    if continuing:
        sent.append(Message(role="user", parts=(TextPart(text=CONTINUE_TEXT),)))
    settings = conversation.settings
    return GenerateRequest(
        run_id=run_id,
        chat_key=conversation.id,
        message=sent[-1],
        history=tuple(sent[:-1]),
        system=settings.system,
        sampling=settings.sampling,
        speculative=speculative and constraint is None,
        thinking=thinking,
        thinking_budget=settings.thinking_budget if thinking else None,
        tools=tools,
        constraint=constraint,
    )


def run_record(outcome: Outcome, loaded: LoadedModel | None) -> RunRecord:
    """What is kept of how an answer was made."""
    numbers = outcome.benchmark
    record = RunRecord(
        model=display_name(loaded.info.path) if loaded else "",
        model_path=loaded.info.path if loaded else "",
        backend=str(loaded.options.backend) if loaded else "",
        speculative=outcome.speculative,
        engine_version=loaded.library_version if loaded else LIBRARY_VERSION,
        reason=outcome.reason,
        finished=time.time(),
        context_used=outcome.context_used,
        context_total=outcome.context_total,
        resumed=outcome.resumed,
    )
    if numbers is None:
        return record
    return msgspec.structs.replace(
        record,
        elapsed_s=numbers.elapsed_s,
        ttft_s=numbers.ttft_s,
        prefill_tps=numbers.prefill_tps,
        decode_tps=numbers.decode_tps,
        prefill_tokens=numbers.prefill_tokens,
        decode_tokens=numbers.decode_tokens,
        tokens_per_step=numbers.tokens_per_step,
    )


def begun_run(options: LoadOptions, speculative: bool) -> RunRecord:
    """What is known of a send before it has numbers; all that is left of it when the program
    ends meanwhile."""
    return RunRecord(
        model=display_name(options.model_path),
        model_path=options.model_path,
        backend=str(options.backend),
        speculative=speculative,
        engine_version=LIBRARY_VERSION,
        reason=FinishReason.ERROR,
    )


def failed_run(
    begun: RunRecord, told: RunRecord | None, elapsed_s: float, batch: TextBatch | None
) -> RunRecord:
    """The record of a send that failed: with the time by our own clock (seconds) and what the
    last piece of text says. `told` is what the engine said itself, if it said anything."""
    tokens = None
    if batch is not None:
        tokens = batch.tokens if begun.speculative else batch.steps or None
    record = msgspec.structs.replace(
        begun,
        finished=time.time(),
        elapsed_s=elapsed_s,
        ttft_s=None if batch is None else batch.first_s,
        decode_tokens=tokens,
    )
    if told is None:
        return record
    return msgspec.structs.replace(
        record,
        engine_version=told.engine_version,
        context_used=told.context_used,
        context_total=told.context_total,
        resumed=told.resumed,
        unseen=told.unseen,
    )


def unseen_names(conversation: Conversation, unseen: tuple[Unseen, ...]) -> tuple[str, ...]:
    """The person's names of attachments that were left out, each once."""
    names = {a.file: a.name for n in conversation.nodes.values() for a in n.attachments}
    files = [re.split(r"[\\/]", u.path)[-1] for u in unseen]
    return tuple(dict.fromkeys(names.get(file, file) for file in files))


def problem_code(outcome: Outcome, node: Node) -> str:
    """The code of a sentence for an outcome that brought no usable answer, else ""."""
    if outcome.error is not None:
        return outcome.error.code
    if node.text or node.tool_steps or outcome.reason is FinishReason.STOPPED:
        return ""
    return "only_thoughts" if node.thought else "empty_answer"


def resolve_spec(mode: SpecMode, supports_mtp: bool | None, auto: bool) -> bool:
    """True or false for the engine: never true for a file without a drafter."""
    if not supports_mtp:
        return False
    return auto if mode is SpecMode.AUTO else mode is SpecMode.ON


def remove_turn(conversation: Conversation, node_id: str) -> Removed:
    """Takes one turn out and keeps what follows it.

    An answer with other versions goes with everything below it. Otherwise what followed
    moves up: a question goes with its answers, an answer in the middle with its question.
    """
    before = Removed(
        nodes={k: msgspec.structs.replace(n) for k, n in conversation.nodes.items()},
        selected=dict(conversation.selected),
        gone=(),
    )
    node = conversation.nodes[node_id]
    if node.role is Role.ASSISTANT:
        alone = len(conversation.versions(node_id)) == 1
        if alone and conversation.children(node_id) and node.parent is not None:
            _splice(conversation, conversation.nodes[node.parent])
        else:
            conversation.remove(node_id)
    else:
        _splice(conversation, node)
    conversation.updated = time.time()
    gone = tuple(k for k in before.nodes if k not in conversation.nodes)
    return Removed(before.nodes, before.selected, gone)


def _splice(conversation: Conversation, question: Node) -> None:
    """Removes a question with its answers; the turns after them move up."""
    chosen = conversation.selected.get(question.id)
    follow = conversation.selected.get(chosen or "") if chosen else None
    for answer in conversation.children(question.id):
        for later in conversation.children(answer.id):
            later.parent = question.parent
        conversation.selected.pop(answer.id, None)
    conversation.remove(question.id)
    if follow in conversation.nodes:
        conversation.selected[question.parent or ""] = follow


def put_back(conversation: Conversation, removed: Removed) -> list[Node]:
    """Undoes `remove_turn`; turns added since stay. Returns the nodes that changed."""
    changed = []
    for node_id, node in removed.nodes.items():
        have = conversation.nodes.get(node_id)
        if have is None or have.parent != node.parent:
            conversation.nodes[node_id] = node
            changed.append(node)
    order = {k: i for i, k in enumerate(removed.nodes)}
    last = len(order)
    conversation.nodes = dict(
        sorted(conversation.nodes.items(), key=lambda item: order.get(item[0], last))
    )
    conversation.selected.update(removed.selected)
    return changed


def drop_oldest(conversation: Conversation, turns: int = 1) -> bool:
    """Stops sending the oldest `turns` questions with their answers; they stay visible.

    False when only the last question would be left to drop.
    """
    nodes = conversation.sent_path()
    starts = [n.id for n in nodes if n.role is Role.USER]
    if len(starts) <= turns:
        return False
    conversation.settings = msgspec.structs.replace(conversation.settings, start_at=starts[turns])
    return True
