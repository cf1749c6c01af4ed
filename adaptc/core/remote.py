"""A folder by URL: of an object store as S3, of this machine, or of any other file system that fsspec knows.

fsspec has no common words for the headers of an object, for whether a write is atomic, and for what went wrong; these
are here. Credentials, regions and endpoints are left to the libraries, which read them where users expect it: from the
environment and the files of the store's own tools. Nothing is cached, and all methods may be called from any thread.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from adaptc.core.diagnostics import Fault, RemoteError, UsageError
from adaptc.core.fs import TEMPORARY
from adaptc.core.values import dataclass

# Requests of one process at a time: s3fs keeps no more than 10 connections unless told otherwise
CONNECTIONS = 32


@dataclass(frozen=True, slots=True)
class Headers:
    """The header fields with which an object store sends an object; other file systems have none."""

    content_type: str
    content_encoding: str | None = None
    cache_control: str | None = None

    def present(self) -> dict[str, str]:
        """Return the fields that have a value, by attribute."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {name: value for name, value in fields.items() if value is not None}


class RemoteFile(NamedTuple):
    """A file of a listing: ``version`` differs where the content does, ``modified`` is in seconds since 1970."""

    size: int
    version: str
    modified: float


def _s3_options(headers: Headers) -> dict[str, Any]:
    return {name.title().replace("_", ""): value for name, value in headers.present().items()}


def _google_options(headers: Headers) -> dict[str, Any]:
    present = headers.present()
    return {"content_type": present.pop("content_type"), "fixed_key_metadata": present}


def _azure_options(headers: Headers) -> dict[str, Any]:
    return {"content_settings": headers.present()}


# How the file systems of object stores take headers. A write to these is atomic; to others it is made so by a rename.
_HEADER_OPTIONS: dict[str, Callable[[Headers], dict[str, Any]]] = {
    "s3": _s3_options,
    "gs": _google_options,
    "gcs": _google_options,
    "abfs": _azure_options,
    "memory": lambda _: {},
}
_OPENING: dict[str, dict[str, Any]] = {"s3": {"config_kwargs": {"max_pool_connections": CONNECTIONS}}}

# The keys under which file systems list what ``RemoteFile`` has
_VERSIONS = ("ETag", "etag", "generation", "mtime", "LastModified", "last_modified", "created")
_TIMES = ("LastModified", "last_modified", "updated", "mtime", "modified", "created")

# Errors of the libraries that are no ``OSError``; only a library that is loaded can raise its own
_ERRORS = (
    ("botocore.exceptions", "BotoCoreError"),
    ("botocore.exceptions", "ClientError"),
    ("aiohttp", "ClientError"),
    ("gcsfs.retry", "HttpError"),
    ("google.auth.exceptions", "GoogleAuthError"),
    ("azure.core.exceptions", "AzureError"),
    ("paramiko", "SSHException"),
)
_ACCESS = (
    "NoCredentials",
    "PartialCredentials",
    "CredentialRetrieval",
    "DefaultCredentials",
    "RefreshError",
    "Authent",
)
_REFUSED = (401, 403, "401", "403")


class Remote:
    """The folder at ``url``. Raises ``UsageError`` for a URL that no installed library can open.

    Methods raise ``RemoteError``. Names are relative to the folder, with ``/`` between segments.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._fs, self._root = _open(self.url)
        protocols = (self._fs.protocol,) if isinstance(self._fs.protocol, str) else self._fs.protocol
        known = [_HEADER_OPTIONS[name] for name in protocols if name in _HEADER_OPTIONS]
        self._options = known[0] if known else None

    def files(self, below: str = "") -> dict[str, RemoteFile]:
        """Return all files by name, or those of the directory ``below``: of S3 and others, 1,000 with each request."""
        with self._translating(below):
            found = self._fs.find(self._path(below), detail=True)
        files = ((name, row) for name, row in found.items() if row.get("type", "file") == "file")
        return {name[len(self._root) :].lstrip("/"): _file(row) for name, row in files}

    def read(self, name: str, start: int | None = None, end: int | None = None) -> bytes | None:
        """Return the content of a file, or its bytes from ``start`` to ``end``; ``None`` where there is no file."""
        with self._translating(name):
            try:
                return bytes(self._fs.cat_file(self._path(name), start=start, end=end))
            except FileNotFoundError:
                return None

    def write(self, name: str, content: bytes, headers: Headers) -> None:
        """Write a file: readers see the old content or the new."""
        path = self._path(name)
        with self._translating(name):
            if self._options is None:
                self._replace(path, lambda draft: self._fs.pipe_file(draft, content))
            else:
                self._fs.pipe_file(path, content, **self._options(headers))

    def upload(self, file: str, name: str, headers: Headers) -> None:
        """Write a file of this machine, of any size, as ``write`` does."""
        path = self._path(name)
        with self._translating(name):
            if self._options is None:
                self._replace(path, lambda draft: self._fs.put_file(file, draft))
            else:
                self._fs.put_file(file, path, **self._options(headers))

    def remove(self, name: str) -> None:
        """Remove a file; one that does not exist is no error. Names are never taken for patterns."""
        with self._translating(name), contextlib.suppress(FileNotFoundError):
            self._fs.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if name else self._root

    def _replace(self, path: str, write: Callable[[str], object]) -> None:
        parent = path.rpartition("/")[0]
        self._fs.makedirs(parent, exist_ok=True)
        if self._fs.isdir(path):
            raise IsADirectoryError(f"{path} is a directory")
        draft = f"{parent}/{TEMPORARY}{os.getpid()}-{os.urandom(6).hex()}"
        try:
            write(draft)
            self._fs.mv(draft, path)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                self._fs.rm_file(draft)
            raise

    @contextlib.contextmanager
    def _translating(self, name: str) -> Iterator[None]:
        try:
            yield
        except _errors() as error:
            place = f"{self.url}/{name}" if name else self.url
            raise RemoteError(_fault_of(error), f"{place}: {_sentence(error)}") from error


def _open(url: str) -> tuple[Any, str]:
    try:
        import fsspec
        from fsspec.core import url_to_fs
    except ImportError:
        raise UsageError(f"{url}: fsspec is not installed: pip install 'adaptc[s3]' or 'adaptc[gs]'") from None
    protocol = fsspec.utils.get_protocol(url)
    try:
        filesystem, root = url_to_fs(url, use_listings_cache=False, **_OPENING.get(protocol, {}))
    except (ImportError, ValueError) as error:  # no library for it, or no file system of this name
        raise UsageError(f"{url}: {_sentence(error)}") from None
    except _errors() as error:  # libraries that look for credentials at once
        raise RemoteError(_fault_of(error), f"{url}: {_sentence(error)}") from error
    return filesystem, root.rstrip("/")


def _file(row: Mapping[str, Any]) -> RemoteFile:
    version = next((str(row[key]) for key in _VERSIONS if row.get(key) is not None), "")
    modified = next((row[key] for key in _TIMES if row.get(key) is not None), 0.0)
    return RemoteFile(int(row["size"] or 0), version, _seconds(modified))


def _seconds(moment: Any) -> float:
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    return moment.timestamp() if isinstance(moment, datetime) else float(moment)


def _errors() -> tuple[type[BaseException], ...]:
    loaded = ((sys.modules.get(module), name) for module, name in _ERRORS)
    return (OSError, *(getattr(module, name) for module, name in loaded if module is not None))


def _fault_of(error: BaseException) -> Fault:
    names = "".join(kind.__name__ for kind in type(error).__mro__)
    if isinstance(error, PermissionError) or any(name in names for name in _ACCESS):
        return Fault.ACCESS
    if getattr(error, "code", None) in _REFUSED or str(error).startswith("Forbidden:"):  # gcsfs
        return Fault.ACCESS
    is_missing = isinstance(error, FileNotFoundError) or "ResourceNotFound" in names
    return Fault.MISSING if is_missing else Fault.FAILED


def _sentence(error: BaseException) -> str:
    if isinstance(error, FileNotFoundError) and not error.strerror:  # gcsfs says the address of its request
        return "there is no such bucket, folder or file"
    reason = getattr(error, "strerror", None) or str(error).partition("\nRequestId:")[0]  # Azure adds its answer
    return " ".join(reason.split()) or type(error).__name__
