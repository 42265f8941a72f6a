"""The Hugging Face token: kept in the system's keyring, or for this run only.

A `Secret` never shows its value by accident: not in `repr`, logs, formatted tracebacks,
pickles or msgspec output. Keyring backends may be absent, broken, or wait for ever for a
password dialog; every call runs on a daemon thread of its own with a deadline, so neither
the window nor quitting waits for one. Methods of `TokenStore` belong to one thread or
loop; the blocking ones (`*_sync`) to any thread but the main one.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Any, NoReturn, Protocol, TypeVar

SERVICE = "Tandem"
ACCOUNT = "huggingface-token"
DEADLINE_S = 8.0

_log = logging.getLogger(__name__)
_T = TypeVar("_T")


class Secret:
    """A string that only `reveal()` shows."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value.strip()

    def reveal(self) -> str:
        return self._value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __repr__(self) -> str:
        return "Secret(•••)"

    __str__ = __repr__

    def __format__(self, _spec: str) -> str:
        return repr(self)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a secret is not written anywhere")


class Keeping(StrEnum):
    """Where the current token lives."""

    NOWHERE = "nowhere"
    KEYRING = "keyring"
    SESSION = "session"


class KeyringLike(Protocol):
    """The three functions of the `keyring` module that we call; tests bring their own."""

    def get_password(self, service_name: str, username: str) -> str | None: ...
    def set_password(self, service_name: str, username: str, password: str) -> None: ...
    def delete_password(self, service_name: str, username: str) -> None: ...


class KeyringUnavailable(Exception):
    """No keyring, one that refused, or one that did not answer in time. `reason` is a
    word for the log and the notice: "absent", "refused" or "timeout"."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def _system_keyring() -> KeyringLike:
    import keyring  # slow import, may start D-Bus: only on the keyring thread
    from keyring.backends import fail, null

    if isinstance(keyring.get_keyring(), fail.Keyring | null.Keyring):
        raise KeyringUnavailable("absent")
    backend: Any = keyring
    return backend  # type: ignore[no-any-return]


class TokenStore:
    """Holds the token of this run and keeps it in the keyring where there is one."""

    def __init__(
        self,
        open_keyring: Callable[[], KeyringLike] = _system_keyring,
        deadline_s: float = DEADLINE_S,
    ) -> None:
        self._open = open_keyring
        self._deadline = deadline_s
        self._token: Secret | None = None
        self._keeping = Keeping.NOWHERE
        self._loaded = False

    @property
    def token(self) -> Secret | None:
        return self._token

    @property
    def keeping(self) -> Keeping:
        return self._keeping

    async def load(self) -> Secret | None:
        """The stored token, asked from the keyring once. Never raises."""
        if self._loaded or self._token:
            return self._token
        try:
            value = await self._call(lambda ring: ring.get_password(SERVICE, ACCOUNT))
        except KeyringUnavailable as error:
            _log.info("keyring not usable: %s", error.reason)
            return self._token
        self._loaded = True
        if value and not self._token:
            self._token, self._keeping = Secret(value), Keeping.KEYRING
        return self._token

    async def save(self, token: Secret) -> Keeping:
        """Keeps a tested token; SESSION means that no keyring would take it."""
        self._token, self._keeping, self._loaded = token, Keeping.SESSION, True
        try:
            await self._call(lambda ring: ring.set_password(SERVICE, ACCOUNT, token.reveal()))
        except KeyringUnavailable as error:
            _log.info("token kept for this run only: keyring %s", error.reason)
        else:
            self._keeping = Keeping.KEYRING
        return self._keeping

    async def remove(self) -> bool:
        """Forgets the token. False when the keyring could not be asked to forget it too."""
        was = self._keeping
        self._token, self._keeping, self._loaded = None, Keeping.NOWHERE, True
        try:
            await self._call(_delete)
        except KeyringUnavailable as error:
            return was is not Keeping.KEYRING or error.reason == "absent"
        return True

    async def _call(self, action: Callable[[KeyringLike], _T]) -> _T:
        future = asyncio.wrap_future(self._start(action))
        try:
            async with asyncio.timeout(self._deadline):
                return await future
        except TimeoutError:
            raise KeyringUnavailable("timeout") from None
        except KeyringUnavailable:
            raise
        except Exception as error:
            # The message of a backend could quote what it was given: only its type is told.
            _log.debug("keyring backend failed with %s", type(error).__name__)
            raise KeyringUnavailable("refused") from None

    def _start(self, action: Callable[[KeyringLike], _T]) -> concurrent.futures.Future[_T]:
        future: concurrent.futures.Future[_T] = concurrent.futures.Future()

        def run() -> None:
            try:
                result = action(self._open())
            except BaseException as error:
                if not future.cancelled():
                    future.set_exception(error)
            else:
                if not future.cancelled():
                    future.set_result(result)

        threading.Thread(target=run, name="keyring", daemon=True).start()
        return future


def _delete(ring: KeyringLike) -> None:
    if ring.get_password(SERVICE, ACCOUNT) is not None:
        ring.delete_password(SERVICE, ACCOUNT)
