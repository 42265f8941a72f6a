"""`tests.e2e.drive` with the scenarios of `tests.e2e.history_scenarios` added."""

from __future__ import annotations

import sys

from tests.e2e import drive, history_scenarios, scenarios

if __name__ == "__main__":
    scenarios.SCENARIOS.update(history_scenarios.SCENARIOS)
    sys.exit(drive.main(sys.argv[1:]))
