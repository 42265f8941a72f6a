"""The commands of the window: names, texts, shortcuts and the menus they live in.

An action is hidden until somebody connects it (`MainWindow.on_action`), so no menu holds a
dead entry. The map is also the list of shortcuts shown to people.
"""

from __future__ import annotations

from dataclasses import dataclass

from ui import strings


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """`keys` are portable shortcut texts; the first is shown in the menu."""

    name: str
    text: str
    keys: tuple[str, ...] = ()
    checkable: bool = False


SEPARATOR = ActionSpec("", "")

MENUS: tuple[tuple[str, tuple[ActionSpec, ...]], ...] = (
    (
        "&File",
        (
            ActionSpec("new_chat", "&New chat", ("Ctrl+N", "Ctrl+T")),
            ActionSpec("open_model", "&Open model file…", ("Ctrl+O",)),
            SEPARATOR,
            ActionSpec("import", "&Import conversations…"),
            ActionSpec("export", "&Export conversation…", ("Ctrl+Shift+X",)),
            ActionSpec("export_all", "Export &all conversations…"),
            ActionSpec("print", "&Print or save as PDF…", ("Ctrl+P",)),
            SEPARATOR,
            ActionSpec("close_tab", "&Close tab", ("Ctrl+W",)),
            ActionSpec("reopen_tab", "&Reopen closed tab", ("Ctrl+Shift+T",)),
            ActionSpec("quit", "&Quit", ("Ctrl+Q",)),
        ),
    ),
    (
        "&Edit",
        (
            ActionSpec("find", "&Find in chat", ("Ctrl+F",)),
            ActionSpec("find_everywhere", "Find &everywhere", ("Ctrl+Shift+F",)),
            SEPARATOR,
            ActionSpec("edit_last", "Edit &last message", ("Ctrl+Shift+E",)),
            ActionSpec("copy_last", "&Copy last answer", ("Ctrl+Shift+C",)),
            SEPARATOR,
            ActionSpec("settings", "&Settings…", ("Ctrl+,",)),
        ),
    ),
    (
        "&View",
        (
            ActionSpec("palette", "&Command palette…", ("Ctrl+K",)),
            SEPARATOR,
            ActionSpec("sidebar", "&Sidebar", ("Ctrl+B",)),
            ActionSpec("inspector", "Chat se&ttings panel", ("Ctrl+Alt+I",)),
            SEPARATOR,
            ActionSpec("zoom_in", "Larger te&xt", ("Ctrl++", "Ctrl+=")),
            ActionSpec("zoom_out", "S&maller text", ("Ctrl+-",)),
            ActionSpec("zoom_reset", "&Normal text size", ("Ctrl+0",)),
            SEPARATOR,
            ActionSpec("next_tab", "Ne&xt conversation", ("Ctrl+Tab", "Ctrl+PgDown")),
            ActionSpec("previous_tab", "&Previous conversation", ("Ctrl+Shift+Tab", "Ctrl+PgUp")),
            ActionSpec("fullscreen", "&Full screen", ("F11",)),
        ),
    ),
    (
        "&Chat",
        (
            ActionSpec("stop", "&Stop answer", ("Ctrl+.",)),
            ActionSpec("regenerate", "&Regenerate answer", ("Ctrl+R",)),
            ActionSpec("continue", "Con&tinue answer", ("Ctrl+Shift+Return",)),
            SEPARATOR,
            ActionSpec("toggle_spec", "S&peculative on or off", ("Ctrl+Shift+S",)),
            ActionSpec("toggle_tools", "&Use tools in this chat", checkable=True),
            ActionSpec("attach", "&Attach file…", ("Ctrl+Shift+A",)),
            ActionSpec("answer_form", "&Form of the answer…"),
            ActionSpec("chat_settings", "Sam&pling and system prompt…"),
            SEPARATOR,
            ActionSpec("rename_chat", "Re&name conversation…", ("F2",)),
            ActionSpec("delete_chat", "&Delete conversation", ("Ctrl+Shift+D",)),
        ),
    ),
    (
        "&Model",
        (
            ActionSpec("switch_model", "&" + strings.SWITCH_MODEL, ("Ctrl+M",)),
            ActionSpec("load_settings", "&Load settings…"),
            ActionSpec("unload", "&Unload"),
            ActionSpec("restart_engine", "&Restart engine"),
            SEPARATOR,
            ActionSpec("measure", "&Measure speculation…"),
        ),
    ),
    (
        "&Help",
        (
            ActionSpec("shortcuts", "&Keyboard shortcuts", ("F1",)),
            ActionSpec("logs", "Show &log", ("Ctrl+J",)),
            ActionSpec("check_engine", "Check &engine"),
            ActionSpec("save_report", "Save problem &report…"),
            SEPARATOR,
            ActionSpec("about", "&About Tandem"),
        ),
    ),
)


def all_actions() -> tuple[ActionSpec, ...]:
    return tuple(a for _, menu in MENUS for a in menu if a.name)
