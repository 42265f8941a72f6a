"""Streaming Markdown: the cut of the chunks must not show in the result."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtGui import QTextCursor, QTextDocument
from pytestqt.qtbot import QtBot

from ui import markdown_blocks
from ui.format import clean_text
from ui.markdown_stream import MarkdownStream

PARTS = (
    "Plain words with **bold**, *slanted* and `code`.\n",
    "second line\n",
    "\n",
    "\n\n",
    "# Heading\n",
    "Setext\n===\n",
    "- item\n",
    "  - nested\n",
    "1. one\n",
    "2. two\n",
    "   more\n",
    "> quote\n",
    "---\n",
    "```python\n",
    "x = 'a'  # c\n",
    "```\n",
    "~~~\n",
    "    indented\n",
    "| a | b |\n| - | -: |\n| 1 | 2 |\n",
    "![alt](http://127.0.0.1/x.png)\n",
    "<script>alert(1)</script>\n",
    "[link](https://example.org) https://a.b/c.\n",
    "- [ ] todo\n- [x] done\n",
    "日本語 👍🏽 \u202etext\n",
    "tail without end",
    "`",
    "``",
    "\r\n",
    "\r",
    "\x00",
)
SAMPLE = "".join(PARTS)


def dump(document: QTextDocument) -> list[object]:
    out: list[object] = []
    block = document.begin()
    while block.isValid():
        fmt = block.blockFormat()
        owner = block.textList()
        pieces = []
        it = block.begin()
        while not it.atEnd():
            chars = it.fragment().charFormat()
            pieces.append(
                (it.fragment().text(), chars.fontWeight(), chars.anchorHref(), chars.fontItalic())
            )
            it += 1
        out.append(
            (
                block.text(),
                fmt.headingLevel(),
                fmt.topMargin(),
                fmt.bottomMargin(),
                fmt.indent(),
                fmt.leftMargin(),
                owner.itemText(block) if owner else "",
                QTextCursor(block).currentTable() is not None,
                pieces,
                [(f.start, f.length) for f in block.layout().formats()],  # type: ignore[attr-defined]
            )
        )
        block = block.next()
    return out


def at_once(text: str) -> list[object]:
    document = QTextDocument()
    stream = MarkdownStream(document)
    stream.reset(text)
    stream.run()
    return dump(document)


def in_pieces(text: str, sizes: list[int]) -> list[object]:
    document = QTextDocument()
    stream = MarkdownStream(document)
    at = 0
    for size in sizes:
        stream.append(text[at : at + size])
        stream._next_tail = 0.0
        stream.step(1.0)
        at += size
    stream.append(text[at:])
    stream.step(1.0)
    stream.finish()
    stream.run()
    assert stream.text == clean_text(text)
    return dump(document)


@pytest.mark.usefixtures("qapp")
def test_every_character_alone_gives_the_one_shot_document() -> None:
    assert in_pieces(SAMPLE, [1] * len(SAMPLE)) == at_once(SAMPLE)


@pytest.mark.usefixtures("qapp")
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(st.sampled_from(PARTS), max_size=14).map("".join),
    st.lists(st.integers(1, 40), max_size=30),
)
def test_any_cut_gives_the_one_shot_document(text: str, sizes: list[int]) -> None:
    assert in_pieces(text, sizes) == at_once(text)


WORDS = (
    "Once ", "upon a time,", " there", "  was ", "(maybe) ", "a cat's \"tail\"", ". ", "- ", "1. ",
    "1", "# ", "é ü 日本 ", "don’t", " – yes — no; ", "!", "[", "](x)", "*", "_", "`", "&amp", ";",
    "<b>", "http", "://a.b/c ", "\n", "\n\n", "> ", "===", "\t", "  \n", "| a ", "\u202e", "👍",
)  # fmt: skip


@pytest.mark.usefixtures("qapp")
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(WORDS), max_size=12))
def test_what_is_shown_meanwhile_is_what_the_text_so_far_gives(pieces: list[str]) -> None:
    document = QTextDocument()
    stream = MarkdownStream(document)
    so_far = ""
    for piece in pieces:
        so_far += piece
        stream.append(piece)
        stream._next_tail = 0.0
        stream.step(1.0)
        other = QTextDocument()
        fresh = MarkdownStream(other)
        fresh.append(so_far)
        fresh.step(1.0)
        assert dump(document) == dump(other), so_far


def test_words_are_added_to_an_open_paragraph(qtbot: QtBot) -> None:
    document = QTextDocument()
    stream = MarkdownStream(document)
    written: list[str] = []
    stream._writer.write = (  # type: ignore[method-assign]
        lambda text, **_rest: written.append(text)
    )
    stream.append("Once")
    stream.step(1.0)
    stream.append(" upon a time,")
    stream.step(1.0)
    stream.append(" in")
    stream.step(1.0)
    assert written == ["Once"]
    stream.append(" *a*")
    stream.step(1.0)
    assert written == ["Once", "Once upon a time, in *a*"]


@pytest.mark.parametrize(
    ("before", "more"),
    [
        ("- item *a*\n\nOnce", " upon a time"),
        ("One paragraph.\n\nAnother", " one"),
        ("First line\nsecond", " line"),
        ("# Head\n\nFirst line\nsecond", " line"),
    ],
)
def test_words_are_added_to_the_last_line_whatever_is_before(
    qtbot: QtBot, before: str, more: str
) -> None:
    stream = MarkdownStream(QTextDocument())
    stream.append(before)
    stream.step(1.0)
    written: list[str] = []
    stream._writer.write = (  # type: ignore[method-assign]
        lambda text, **_rest: written.append(text)
    )
    for word in more.split(" "):
        stream.append(word)
        stream.step(1.0)
    assert written == []
    stream.append("\n---")
    stream._next_tail = 0.0
    stream.step(1.0)
    assert written


def test_only_code_and_quotes_have_something_behind_them(qtbot: QtBot) -> None:
    for text, wanted in (("words\n\n- item", False), ("> said", True), ("```\nx\n```", True)):
        stream = MarkdownStream(QTextDocument())
        stream.reset(text)
        stream.run()
        assert stream.has_surfaces is wanted


def test_html_stays_text_and_images_are_words(qtbot: QtBot) -> None:
    document = QTextDocument()
    stream = MarkdownStream(document)
    stream.reset("<b>x</b> ![a cat](http://127.0.0.1/c.png)")
    stream.run()
    text = document.toPlainText()
    assert "<b>x</b>" in text
    assert "[image: a cat]" in text
    assert "http://127.0.0.1/c.png" in text
    assert "\ufffc" not in text


def test_finished_blocks_are_not_written_again(qtbot: QtBot) -> None:
    document = QTextDocument()
    stream = MarkdownStream(document)
    stream.append("one\n\ntwo\n\nthr")
    stream.step(1.0)
    reader = QTextCursor(document)
    reader.setPosition(0)
    reader.setPosition(2, QTextCursor.MoveMode.KeepAnchor)
    stream.append("ee and more")
    stream._next_tail = 0.0
    stream.step(1.0)
    assert document.toPlainText() == "one\ntwo\nthree and more"
    assert reader.selectedText() == "on"  # written again, it would have collapsed


def test_code_is_kept_exactly_and_coloured(qtbot: QtBot) -> None:
    document = QTextDocument()
    stream = MarkdownStream(document)
    stream.reset("a\n\n```python\nimport csv\n\n  x = 1\n```\n")
    stream.run()
    (region,) = stream.regions
    assert region.code == "import csv\n\n  x = 1"
    assert document.findBlock(region.start).layout().formats()


LONG = {
    "table": "| a | b |\n| - | -: |\n" + "".join(f"| {n} | word {n} `x` |\n" for n in range(900)),
    "bullets": "".join(f"- item {n}\n  - below {n}\n" for n in range(700)),
    "numbers": "".join(f"{n + 5}. item *{n}*\n" for n in range(900)),
    "quote": "".join(f"> words of line {n}\n>\n" for n in range(600)),
    "paragraph": "".join(f"words *of* line {n}\n" for n in range(900)),
    "numbers in a paragraph": "Words\n" + "".join(f"{n + 2}. of it\n" for n in range(900)),
    "words": "some words " * 1500,
    "one word": "x" * 20_000,
    "code": "```text\n" + "".join(f"  line {n}\n" for n in range(900)) + "```\n",
    "a line of code": " ```text\n " + "123456789 " * 1000 + "\n end\n ```\n",
    "short code": "a\n\n```text\n" + "123456789 " * 450 + "\nend\n```\n\nb\n",
}


def plain(text: str) -> str:
    document = QTextDocument()
    stream = MarkdownStream(document)
    stream.reset(text)
    stream.run()
    return document.toPlainText()


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("name", LONG)
def test_a_block_that_is_cut_does_not_depend_on_how_it_came(name: str) -> None:
    text = f"Before.\n\n{LONG[name]}\nAfter."
    assert in_pieces(text, [997] * 100) == at_once(text)
    assert in_pieces(text, [5000] * 20) == at_once(text)


@pytest.mark.usefixtures("qapp")
@pytest.mark.parametrize("name", LONG)
def test_nothing_is_lost_where_a_block_is_cut(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"Before.\n\n{LONG[name]}\nAfter."
    cut = plain(text)
    for limit in ("WINDOW", "MAX_BLOCK", "CODE_LINE", "CODE_PIECE"):
        monkeypatch.setattr(markdown_blocks, limit, 10**6)
    assert "".join(cut.split()) == "".join(plain(text).split())
    assert cut.endswith("After.")


@pytest.mark.usefixtures("qapp")
def test_numbers_go_on_where_a_list_is_cut() -> None:
    text = "".join(f"1. item {n}\n" for n in range(900))
    shown = [str(row[6]) for row in at_once(text)]
    assert shown == [f"{n + 1}." for n in range(900)]


@pytest.mark.usefixtures("qapp")
def test_code_with_a_long_line_is_kept_exactly() -> None:
    code = "short\n" + "word " * 2000 + "\n\n  end"
    for text in (f"```python\n{code}\n```\n", f"a\n\n```python\n{code}\n```\n\nb\n"):
        stream = MarkdownStream(QTextDocument())
        for at in range(0, len(text), 700):
            stream.append(text[at : at + 700])
            stream._next_tail = 0.0
            stream.step(1.0)
        stream.finish()
        stream.run()
        (region,) = stream.regions
        assert region.code == code


def test_a_giant_paragraph_is_shown_in_pieces(qtbot: QtBot) -> None:
    document = QTextDocument()
    stream = MarkdownStream(document)
    stream.reset("word " * 60_000)
    steps = 0
    while stream.step(0.01):
        steps += 1
    assert document.characterCount() > 290_000
