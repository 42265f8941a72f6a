"""Keeps one page of the window showing one chat, changing as little as possible.

Main thread. Text goes to the page as deltas; the gauge at most 20 times a second.
"""

from __future__ import annotations

import time

from app.chat import Chat
from app.chat_state import ChatState
from app.turn_views import path_views, turn_view
from ui.conversation_page import ConversationPage
from ui.views import TurnView

GAUGE_S = 0.05


class ChatPage:
    """`stream`, `show_turns`, `show_gauge` and `show_state` follow the events of the chat."""

    def __init__(self, chat: Chat, page: ConversationPage) -> None:
        self._chat = chat
        self._page = page
        self._node = ""
        self._text = 0
        self._thought = 0
        self._gauged = 0.0
        self._at_tools = False
        page.set_turns(path_views(chat))
        page.set_gauge(chat.gauge)

    def stream(self) -> None:
        """Passes on what the answer gained since the last call."""
        node_id = self._chat.answering
        if node_id is None:
            return
        node = self._chat.conversation.nodes[node_id]
        if self._node != node_id:
            self._node, self._text, self._thought = node_id, 0, 0
        self._page.stream(node_id, node.text[self._text :], node.thought[self._thought :])
        self._text, self._thought = len(node.text), len(node.thought)

    def show_gauge(self) -> None:
        now = time.monotonic()
        if not self._chat.gauge.live or now - self._gauged >= GAUGE_S:
            self._gauged = now
            self._page.set_gauge(self._chat.gauge)

    def show_state(self) -> None:
        """What the answer being written waits for, as long as no text came."""
        node_id = self._chat.answering
        at_tools = self._chat.key in self._chat.context.at_tools
        before, self._at_tools = self._at_tools, at_tools
        waits = self._chat.state is not ChatState.DECODING or at_tools or before
        if node_id is not None and waits:
            view = turn_view(self._chat, self._chat.conversation.nodes[node_id])
            self._page.update_turn(view)
            self._follow(view)

    def show_turns(self) -> None:
        wanted = path_views(self._chat)
        have = self._page.turns()
        ids, have_ids = [v.node_id for v in wanted], [v.node_id for v in have]
        if have_ids != ids[: len(have_ids)]:
            self._page.set_turns(wanted)
        else:
            for old, new in zip(have, wanted, strict=False):
                if old != new:
                    self._page.update_turn(new)
            for view in wanted[len(have_ids) :]:
                self._page.append_turn(view)
        if wanted:
            self._follow(wanted[-1])

    def _follow(self, view: TurnView) -> None:
        """A view of a streaming turn holds its text so far: deltas go on from there."""
        if view.status == "streaming":
            self._node, self._text, self._thought = view.node_id, len(view.text), len(view.thought)
