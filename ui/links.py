"""What an address in an answer really is, before a person is asked whether to open it.

An address is what a model wrote: it may look like one site and lead to another. Only web and
mail addresses can be opened; what is shown is exactly what is handed over, in plain ASCII.
"""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QUrl, QUrlQuery

from ui import format as fmt
from ui import strings

WEB = ("http", "https")
MAX_ADDRESS = 4096
_MAIL_FIELDS = ("subject", "body")
"""Headers that may be filled in; others (attach, bcc) could send what nobody saw."""


@dataclass(frozen=True, slots=True)
class Link:
    """`address` is what is opened; `facts` are sentences about where it leads."""

    address: str
    facts: tuple[str, ...]


def check(target: str) -> Link | None:
    """None for what is never opened: other schemes, paths, shares, addresses without a host."""
    url = QUrl(target.strip(), QUrl.ParsingMode.TolerantMode)
    scheme = url.scheme().lower()
    if not url.isValid() or len(target) > MAX_ADDRESS:
        return None
    if scheme == "mailto":
        return _mail(url)
    if scheme in WEB and url.host():
        return _web(url)
    return None


def _encoded(url: QUrl) -> str:
    return bytes(url.toEncoded().data()).decode("ascii", "replace")


def _web(url: QUrl) -> Link:
    host = url.host(QUrl.ComponentFormattingOption.FullyEncoded)
    facts = [strings.LINK_SITE.format(host=host)]
    if "xn--" in host.lower():
        facts.append(strings.LINK_OTHER_LETTERS.format(host=fmt.plain(_decoded(host), 80)))
    if url.userInfo():
        facts.append(strings.LINK_CREDENTIALS)
    return Link(_encoded(url), tuple(facts))


def _decoded(host: str) -> str:
    """The name in its own letters, also where Qt would keep it encoded."""
    try:
        return host.encode("ascii").decode("idna")
    except UnicodeError:
        return host


def _mail(url: QUrl) -> Link | None:
    to = url.path(QUrl.ComponentFormattingOption.FullyEncoded)
    if "@" not in to:
        return None
    made, kept, dropped = QUrl(), QUrlQuery(), False
    for key, value in QUrlQuery(url).queryItems(QUrl.ComponentFormattingOption.FullyEncoded):
        if key.lower() in _MAIL_FIELDS:
            kept.addQueryItem(key.lower(), value)
        else:
            dropped = True
    made.setScheme("mailto")
    made.setPath(to, QUrl.ParsingMode.StrictMode)
    if not kept.isEmpty():
        made.setQuery(kept)
    shown = fmt.plain(url.path(QUrl.ComponentFormattingOption.PrettyDecoded), 200)
    facts = [strings.LINK_MAIL.format(address=shown)]
    if dropped:
        facts.append(strings.LINK_HEADERS)
    return Link(_encoded(made), tuple(facts))
