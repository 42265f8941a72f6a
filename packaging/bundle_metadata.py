"""What Windows and macOS read about the program before it starts: versions, document type."""

from __future__ import annotations

import sys
from typing import Any

from bundle import BUNDLE_ID, MIME_TYPE


def windows_version(version: str) -> Any:
    """The version record Windows shows under Properties; None elsewhere."""
    if sys.platform != "win32":
        return None
    from PyInstaller.utils.win32 import versioninfo as info

    numbers = (*(int(part) for part in version.split(".")), 0)[:4]
    strings = {
        "FileDescription": "Tandem",
        "ProductName": "Tandem",
        "FileVersion": version,
        "ProductVersion": version,
        "OriginalFilename": "Tandem.exe",
        "LegalCopyright": "Apache-2.0",
    }
    return info.VSVersionInfo(
        ffi=info.FixedFileInfo(filevers=numbers, prodvers=numbers),
        kids=[
            info.StringFileInfo(
                [
                    info.StringTable(
                        "040904B0", [info.StringStruct(k, v) for k, v in strings.items()]
                    )
                ]
            ),
            info.VarFileInfo([info.VarStruct("Translation", [1033, 1200])]),
        ],
    )


def info_plist(version: str) -> dict[str, Any]:
    """What macOS reads before it starts the program: versions, document type, dark mode."""
    return {
        "CFBundleDisplayName": "Tandem",
        "CFBundleShortVersionString": version,
        "CFBundleVersion": version,
        "LSMinimumSystemVersion": "14.0",
        "LSArchitecturePriority": ["arm64"],
        "LSApplicationCategoryType": "public.app-category.productivity",
        "NSHighResolutionCapable": True,
        "NSRequiresAquaSystemAppearance": False,
        "NSHumanReadableCopyright": "Apache-2.0",
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": "LiteRT-LM model",
                "CFBundleTypeRole": "Viewer",
                "LSHandlerRank": "Owner",
                "LSItemContentTypes": [f"{BUNDLE_ID}.litertlm"],
            }
        ],
        "UTImportedTypeDeclarations": [
            {
                "UTTypeIdentifier": f"{BUNDLE_ID}.litertlm",
                "UTTypeDescription": "LiteRT-LM model",
                "UTTypeConformsTo": ["public.data"],
                "UTTypeTagSpecification": {
                    "public.filename-extension": ["litertlm"],
                    "public.mime-type": [MIME_TYPE],
                },
            }
        ],
    }
