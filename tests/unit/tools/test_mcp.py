"""Tool servers with a real server process."""

from __future__ import annotations

import asyncio
import contextlib
import queue
import stat
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.settings import McpServer, SettingsStore
from app.tools.mcp_client import McpHub, ServerPhase, ServerState
from app.tools.mcp_waits import kill_leftovers, log_file
from app.tools.registry import Registry, ToolFailure
from app.tools.servers import ToolServers

SERVER = Path(__file__).parents[2] / "fakes" / "mcp_server.py"
LONG = 60.0


def config(name: str, *args: str, **fields: object) -> McpServer:
    made = McpServer(name=name, command=sys.executable, args=(str(SERVER), *args))
    return McpServer(**{**{f: getattr(made, f) for f in made.__struct_fields__}, **fields})  # type: ignore[arg-type]


class Hub:
    """A hub and what it told."""

    def __init__(self, logs: Path, start_s: float = LONG, call_s: float = LONG) -> None:
        self.told: queue.Queue[ServerState] = queue.Queue()
        self.hub = McpHub(logs, self.told.put, start_timeout_s=start_s, call_timeout_s=call_s)

    def until(self, phase: ServerPhase) -> ServerState:
        while (state := self.told.get(timeout=LONG)).phase is not phase:
            pass
        return state

    def ready(self, server: McpServer) -> ServerState:
        self.hub.start(server)
        return self.until(ServerPhase.READY)

    def call(self, tool: str, arguments: dict[str, object] | None = None) -> object:
        return self.hub.call("srv", tool, arguments or {}).result(LONG)


@pytest.fixture
def make_hub(tmp_path: Path) -> Iterator[type[Hub]]:
    made: list[Hub] = []

    class Made(Hub):
        def __init__(self, start_s: float = LONG, call_s: float = LONG) -> None:
            super().__init__(tmp_path, start_s, call_s)
            made.append(self)

    yield Made
    for hub in made:
        hub.hub.close(5)


def test_list_call_errors_and_exact_values(make_hub: type[Hub], tmp_path: Path) -> None:
    hub = make_hub()
    state = hub.ready(config("srv", env={"MINE": "1"}))
    tools = {t.name: t for t in state.tools}
    assert {"echo", "greet", "environment", "fail"} <= tools.keys()
    assert tools["greet"].description == "Says hello."
    assert tools["greet"].ask, "a new tool asks before it runs"
    assert tools["greet"].schema["required"] == ["name"]
    value = {"n": 9007199254740993, "q": 'a"b\n<é>', "o": {"l": [1, None, {"x": True}]}}
    assert hub.call("echo", {"value": value}) == value
    assert hub.call("greet", {"name": "Ann"}) == {"result": "Hello, Ann!"}
    assert hub.call("environment", {"name": "MINE"}) == {"result": "1"}
    with pytest.raises(ToolFailure, match="the cupboard is bare"):
        hub.call("fail")
    with pytest.raises(ToolFailure, match="Unknown tool"):
        hub.call("nope")
    log = log_file(tmp_path, "srv")
    assert "server is up" in log.read_text()
    if sys.platform != "win32":
        assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_the_environment_is_an_allow_list(
    make_hub: type[Hub], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    hub = make_hub()
    hub.ready(config("srv"))
    assert hub.call("environment", {"name": "HF_TOKEN"}) == {"result": "-"}


def test_a_server_that_dies_while_called_and_while_idle(make_hub: type[Hub]) -> None:
    hub = make_hub()
    hub.ready(config("srv"))
    with pytest.raises(ToolFailure, match="ended"):
        hub.call("die")
    assert hub.until(ServerPhase.FAILED).reason == "It ended by itself."
    with pytest.raises(ToolFailure, match="not running"):
        hub.call("greet", {"name": "x"})
    hub.ready(config("srv"))
    for child in psutil.Process().children():
        if str(SERVER) in " ".join(child.cmdline()):
            child.kill()
    assert hub.until(ServerPhase.FAILED).reason == "It ended by itself."


def test_dead_silent_noisy_and_missing_servers(make_hub: type[Hub], tmp_path: Path) -> None:
    hub = make_hub()
    hub.hub.start(config("dead", "--die-at-start"))
    assert "ended before" in hub.until(ServerPhase.FAILED).reason
    assert "no licence file" in log_file(tmp_path, "dead").read_text()
    hub.hub.start(McpServer(name="none", command="/no/such/program"))
    assert "was not found" in hub.until(ServerPhase.FAILED).reason
    assert hub.ready(config("srv", "--noisy")).tools
    impatient = make_hub(start_s=1.0)
    impatient.hub.start(config("silent", "--silent"))
    assert "no answer within 1 seconds" in impatient.until(ServerPhase.FAILED).reason


def test_a_slow_call_times_out_and_nothing_blocks(make_hub: type[Hub]) -> None:
    hub = make_hub(call_s=0.3)
    hub.ready(config("srv"))
    began = time.monotonic()
    future = hub.hub.call("srv", "sleep", {"seconds": 30})
    assert time.monotonic() - began < 10, "asking returns at once"
    with pytest.raises(ToolFailure, match="no answer within"):
        future.result(LONG)
    waiting = hub.hub.call("srv", "sleep", {"seconds": 30})
    waiting.cancel()
    assert waiting.cancelled()


def test_stop_while_starting_and_close_ends_everything(make_hub: type[Hub]) -> None:
    hub = make_hub()
    hub.hub.start(config("silent", "--silent"))
    hub.until(ServerPhase.STARTING)
    hub.hub.stop("silent")
    hub.until(ServerPhase.STOPPED)
    hub.ready(config("srv"))
    assert hub.hub.close(LONG)
    assert not [t for t in threading.enumerate() if t.name == "mcp"]
    with pytest.raises(ToolFailure, match="closing"):
        hub.call("greet")


def servers_left() -> list[psutil.Process]:
    """Other children, such as the helper of `multiprocessing`, do not count."""
    left = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):
            if str(SERVER) in " ".join(child.cmdline()):
                left.append(child)
    return left


def test_a_server_that_does_not_want_to_end_is_killed(make_hub: type[Hub]) -> None:
    hub = make_hub()
    hub.ready(config("srv", "--deaf"))
    assert not hub.hub.close(0.2)
    assert kill_leftovers() == 0
    deadline = time.monotonic() + 30
    while servers_left() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not servers_left()


def test_settings_registry_and_consent_follow_the_servers(tmp_path: Path) -> None:
    async def main() -> None:
        store = SettingsStore(tmp_path / "settings.json")
        registry = Registry()
        loop = asyncio.get_running_loop()
        changed = asyncio.Event()
        servers = ToolServers(store, registry, tmp_path, loop, changed.set)

        async def until(phase: ServerPhase) -> None:
            while servers.state("srv").phase is not phase:
                changed.clear()
                await asyncio.wait_for(changed.wait(), LONG)

        servers.add(config("srv"))
        await until(ServerPhase.READY)
        tool = registry.find("greet")
        assert tool is not None
        assert tool.source == "srv"
        assert store.value.mcp_servers[0].name == "srv"
        registry.choose("greet", ask=False)
        servers.switch("srv", False)
        await until(ServerPhase.STOPPED)
        assert registry.tools() == ()
        assert store.value.mcp_servers[0].enabled is False
        servers.switch("srv", True)
        await until(ServerPhase.READY)
        again = registry.find("greet")
        assert again is not None
        assert not again.ask, "the choice outlives a restart"
        servers.remove("srv")
        assert store.value.mcp_servers == ()
        assert registry.choices == {}
        await asyncio.to_thread(servers.close)
        store.save_now()
        if sys.platform != "win32":
            assert stat.S_IMODE((tmp_path / "settings.json").stat().st_mode) == 0o600

    asyncio.run(main())
