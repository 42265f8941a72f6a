"""`tests.e2e.drive` with the scenarios of `tests.e2e.media_scenarios` added."""

from __future__ import annotations

import sys

from tests.e2e import drive, media_scenarios, scenarios

if __name__ == "__main__":
    scenarios.SCENARIOS.update(media_scenarios.SCENARIOS)
    sys.exit(drive.main(sys.argv[1:]))
