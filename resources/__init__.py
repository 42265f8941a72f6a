"""Files Tandem ships: icons, styles, the model catalogue, the demo model, licences."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
"""Where the files lie, in a checkout and in a frozen bundle alike."""

DEMO_MODEL = FOLDER / "models" / "tandem-demo.litertlm"
