"""A clone of a conversation as it is between its prompt and its answer.

Asked for while the prompt of a send is decoded, it is made when the prompt is through and
before the answer begins (0.18.1: the answer is queued behind it). Such a clone goes on
where the answer begins: after a Stop only what came of the answer has to be told to it.
Asked for too late it waits for the end of the answer, so it is made on a thread of its own
and whoever takes it checks how far it is.

What the engine does not guard, and so must not happen (0.18.1):
- A conversation with a constraint makes its clone a tokenizer table, with the tokenizer that
  turns the answer into text meanwhile: the process aborts. It gets no such clone.
- The figures of a conversation are copied for its clone, and written when a prompt begins and
  ends: the clone is asked for a moment after the begin.

`taken` joins that thread and must be called before the conversation is deleted.
"""

from __future__ import annotations

import json
import threading
import time

from engine._ffi import Native, Owned
from engine.native_values import NativeError

BEGUN = json.dumps({"add_generation_prompt": True})
"""Sent along with messages that begin with the rest of an answer: the engine then takes the
begin of an answer for a part of what is known already (0.18.1: this value is used for both
of the texts it compares)."""


BEGIN_S = 0.001
"""After so long the prompt has begun; the shortest ones here take five times as long."""


class PromptClone:
    """The making of one such clone; `conversation` must have been sent to just now."""

    def __init__(self, native: Native, conversation: Owned) -> None:
        self._native, self._conversation = native, conversation
        self._made: Owned | None = None
        self._thread = threading.Thread(target=self._make, name="prompt-clone", daemon=True)
        self._thread.start()

    def _make(self) -> None:
        time.sleep(BEGIN_S)
        try:
            self._made = self._native.clone(self._conversation)
        except NativeError:
            self._made = None

    def taken(self) -> Owned | None:
        """The clone, which the caller owns, or None where the library made none.

        Waits until the send is over at the latest. How far it is, its token count tells.
        """
        self._thread.join()
        made, self._made = self._made, None
        return made
