"""What the window shows of a chat besides its turns: its tab, its box, its header parts.

Main thread. Values only; `ChatController` puts them into the widgets.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.chat import Chat
from app.chat_context import ChatContext
from app.model_names import display_name
from app.state import AppState
from engine.types import Modality, ModelInfo, SpecMode
from ui import format as fmt
from ui import strings
from ui.views import ComposerView, SpecChoice, TabView


@dataclass(frozen=True, slots=True)
class Box:
    """What the boxes of all chats have in common: it depends on the model alone."""

    can_send: bool
    drafts: bool
    texts: dict[SpecMode, str]
    attach: tuple[str, ...]
    attach_reason: str


class ChatViews:
    """Reads the chat, the model picked now and what is loaded; changes nothing."""

    def __init__(self, context: ChatContext, state: AppState) -> None:
        self._context = context
        self._state = state

    def info(self) -> ModelInfo | None:
        """Facts of the model in use, known without waiting."""
        options = self._context.options()
        return None if options is None else self._context.known(options.model_path)

    def speculative(self, chat: Chat) -> bool | None:
        """None when the model in use has no drafter, so that nothing is shown."""
        options = self._context.options()
        info = self.info()
        if options is None or info is None or not info.supports_mtp:
            return None
        return chat.speculative_for(info, options.backend)

    def tab(self, chat: Chat) -> TabView:
        return TabView(
            key=chat.key,
            title=chat.conversation.title,
            speculative=self.speculative(chat),
            busy=chat.busy,
        )

    def box(self, texts: dict[SpecMode, str], attach_allowed: bool) -> Box:
        """`texts`: what was measured per mode; `attach_allowed`: somebody takes files."""
        info = self.info()
        able = tuple(
            kind
            for kind, modality in (("image", Modality.VISION), ("audio", Modality.AUDIO))
            if modality in self._state.modalities and attach_allowed
        )
        name = fmt.plain(display_name(info.path)) if info else strings.NO_MODEL
        refused = strings.ATTACH_REFUSED.format(model=name, kind="images or audio")
        return Box(
            can_send=self._context.options() is not None,
            drafts=bool(info and info.supports_mtp),
            texts=texts,
            attach=able,
            attach_reason="" if able else refused,
        )

    def composer(self, chat: Chat, box: Box) -> ComposerView:
        return ComposerView(
            state=str(chat.state),
            can_send=box.can_send,
            spec=SpecChoice(available=box.drafts, mode=chat.settings.spec, texts=box.texts),
            attach=box.attach,
            attach_reason=box.attach_reason,
        )
