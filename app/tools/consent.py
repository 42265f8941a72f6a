"""Asks for consent by a notice: for chats, whose window part has no place of its own for it."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable

from app.notices import Action, Level, Notice, Notices
from app.tools.arguments import Prepared
from app.tools.calls import Consent
from app.tools.registry import BUILTIN
from ui import format as fmt
from ui import tool_strings as words

SHOWN = 400
"""Characters of the arguments in the notice itself; longer ones are whole under Details."""

_numbers = itertools.count(1)


async def ask_by_notice(notices: Notices, prepared: Prepared) -> Consent:
    """Posts a notice and waits for the answer; a dismissed notice refuses. When the waiting
    is cancelled the notice goes away. Main thread."""
    key = f"tool-consent-{next(_numbers)}"
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Consent] = loop.create_future()

    def give(consent: Consent) -> None:
        if not answer.done():
            answer.set_result(consent)

    def chosen(consent: Consent) -> Callable[[], None]:
        return lambda: give(consent)

    def on_notices() -> None:
        # A button's notice is dismissed before its action runs: let the action come first.
        if all(n.key != key for n in notices.open):
            loop.call_soon(give, Consent.REFUSE)

    notices.post(_notice(key, prepared, chosen))
    unsubscribe = notices.subscribe(on_notices)
    try:
        return await answer
    finally:
        unsubscribe()
        notices.dismiss(key)


def _notice(
    key: str, prepared: Prepared, chosen: Callable[[Consent], Callable[[], None]]
) -> Notice:
    tool = prepared.tool
    arguments = fmt.visible(prepared.arguments_json)
    form = words.CONSENT if tool.source == BUILTIN else words.CONSENT_FROM
    return Notice(
        key=key,
        title=form.format(name=tool.name, source=fmt.plain(tool.source, 60)),
        text=arguments if len(arguments) <= SHOWN else f"{arguments[: SHOWN - 1]}…",
        level=Level.WARNING,
        # Nothing of what is agreed to may stay unseen.
        detail=arguments if len(arguments) > SHOWN else "",
        actions=(
            Action(words.ALLOW_ONCE, chosen(Consent.ONCE)),
            Action(words.ALWAYS, chosen(Consent.ALWAYS)),
            Action(words.REFUSE, chosen(Consent.REFUSE)),
        ),
    )
