"""The model library: find, fetch, check, and remove model files. No Qt in this package.

Modules that talk to the network (`http`, `huggingface`, `transfer`, `downloads`) import
httpx and are imported only by the window; `local`, `catalogue`, `cache`, `fit` and `delete`
use the standard library, msgspec and psutil alone.
"""
