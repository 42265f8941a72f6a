"""Who may be shown the token: the hub's own origin, and nobody else."""

from __future__ import annotations

from urllib.parse import urlsplit

from app.secrets import Secret


def origin(url: str) -> tuple[str, str, int | None]:
    """Scheme, host and port: what has to be equal for the token to be sent."""
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, (parts.hostname or "").lower(), parts.port or default


class Access:
    __slots__ = ("endpoint", "token")

    def __init__(self, endpoint: str, token: Secret | None) -> None:
        self.endpoint = endpoint
        self.token = token

    def headers_for(self, url: str) -> dict[str, str]:
        if self.token and origin(url) == origin(self.endpoint):
            return {"Authorization": f"Bearer {self.token.reveal()}"}
        return {}

    def covers(self, url: str) -> bool:
        return bool(self.token) and origin(url) == origin(self.endpoint)
