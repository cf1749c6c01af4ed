"""The model: resources, references, actions, and the representations in which files are published.

A *resource* is a file of the docroot. A *level* is a step of the ladder (``full``, ``lossless``, ...). A
*representation* is a version of a resource: a level and a content coding (RFC 9110, section 8.4) or image format.
Paths are relative to the docroot, with ``/`` between segments, and may hold any byte except NUL: bytes that are not
UTF-8 are decoded as ``os.fsdecode`` does (PEP 383).
"""

from __future__ import annotations

from enum import Enum
from typing import Literal, NamedTuple, get_args

from adaptc.core import media
from adaptc.core.values import dataclass


class Role(Enum):
    """The purpose of a reference."""

    STYLESHEET = "stylesheet"
    SCRIPT = "script"
    MODULE = "module"
    IMAGE = "image"
    FONT = "font"
    MEDIA = "media"  # video, audio, track
    FRAME = "frame"
    OBJECT = "object"  # object, embed, applet
    ICON = "icon"
    PRELOAD = "preload"  # preload, modulepreload, prefetch
    MANIFEST = "manifest"
    IMPORT = "import"  # CSS @import
    CSS_URL = "css-url"  # url(), src(), image-set() in CSS
    LAZY = "lazy"  # data-src and its kin: loaded later, by a script
    LINK = "link"  # followed by a person: a, area, form, meta refresh, cite
    META = "meta"  # read by other programs: og:image, canonical

    __hash__ = object.__hash__  # Enum's own is in Python, and took a tenth of the time to read a page's links


# Roles of what a browser loads by itself from the markup: the "embedded objects" of the papers, and what hints name
EMBEDDED = frozenset({
    Role.STYLESHEET, Role.SCRIPT, Role.MODULE, Role.IMAGE, Role.MEDIA, Role.FRAME, Role.OBJECT, Role.ICON,
    Role.PRELOAD, Role.IMPORT,
})  # fmt: skip


class Reference(NamedTuple):
    """A URL in a source.

    ``url`` is as written, with character references and CSS escapes resolved and nothing else changed;
    ``where`` names the place ("img src", "style @import"); ``line`` and ``column`` count from 1.
    """

    role: Role
    url: str
    where: str
    line: int
    column: int


class Resource(NamedTuple):
    """A file of the docroot: size in bytes, mtime in nanoseconds, whether its owner may run it.

    ``alias_of`` is the path of the file that a symbolic link inside the docroot points to.
    """

    path: str
    size: int
    mtime_ns: int
    inode: int
    media_type: str
    alias_of: str | None = None
    is_executable: bool = False


@dataclass(frozen=True, slots=True)
class Action:
    """A change that a pass made to a resource, or decided against, and why. ``count`` equal changes are one action."""

    pass_name: str
    verb: str  # "inlined", "flattened", "recompressed", "kept", "dropped", ...
    subject: str  # the changed part: mostly a path or a URL
    reason: str = ""
    count: int = 1


# The time that encoders spend to make files smaller
Effort = Literal["fast", "default", "max"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

# The directory of a level's tree for the identity coding: the bytes themselves.
IDENTITY = "id"

# The directory of a tree for files that the docroot does not have. They are named by their content and so never stale:
# servers may send them in every mode, and clients may keep them for ever.
OWN_DIRECTORY = "_adaptc/"

# The type of scripts that wait for a visitor, and the event of a window by which a proof wakes them
HELD_TYPE = "adaptc-later"

# The type of script elements whose script is in the page: they stay for scripts that look for their address
MOVED_TYPE = "adaptc-moved"

# The directory of an output that no server sends: the state, the cache, the locks
PRIVATE = ".adaptc"


@dataclass(frozen=True, slots=True)
class Representation:
    """A content coding (RFC 9110, section 8.4) or an image format in which clients that accept it get a file.

    ``name`` is its directory in a level's tree, and the extension that its files have in exports; files of an image
    format have it in the tree as well, since servers know media types by extensions. ``token`` is how clients name it:
    a token of Accept-Encoding (section 12.5.3), or a media type of Accept (section 12.5.1).
    """

    name: str
    kind: Literal["coding", "format"]
    token: str


# Every representation but the identity, in the order in which a server prefers them. A new format takes a row here and
# an encoder in ``adaptc.formats.image.alternates``, a new coding a row and codecs in ``adaptc.formats.codings``.
REPRESENTATIONS = (
    Representation("avif", "format", media.AVIF),
    Representation("webp", "format", media.WEBP),
    Representation("br", "coding", "br"),
    Representation("zst", "coding", "zstd"),
    Representation("gz", "coding", "gzip"),
)

# The tokens of codings and the media types of image formats by name, and the names, each in the order of preference
TOKENS = {row.name: row.token for row in REPRESENTATIONS if row.kind == "coding"}
MEDIA_TYPES = {row.name: row.token for row in REPRESENTATIONS if row.kind == "format"}
CODINGS, FORMATS = tuple(TOKENS), tuple(MEDIA_TYPES)

# Dictionary-compressed Zstandard (RFC 9842, section 5). A level has a directory for each dictionary: the token, and the
# SHA-256 of the dictionary as the field Available-Dictionary has it, without the padding and with _ for each slash.
# Servers replace so many slashes: of random digests 0.5 % have more.
MOST_SLASHES = 3
DICTIONARY_TOKEN = "dcz"
_DICTIONARY_PREFIX = f"{DICTIONARY_TOKEN}-"
# Dictionaries themselves are files of ``OWN_DIRECTORY`` with this extension.
DICTIONARY_EXTENSION = ".dict"

# Extensions of the files that may have alternates in other formats: answers for these URLs alone vary by Accept
NEGOTIABLE = ("png", "jpg", "jpeg", "gif")


def dictionary_coding(name: str) -> str:
    """Return the directory of a level's tree for files that are encoded with the dictionary ``name``."""
    return _DICTIONARY_PREFIX + name.replace("/", "_")


def name_of_coding(coding: str) -> str:
    """Return the name of the dictionary with which the files in a directory of a level's tree are encoded."""
    return coding.removeprefix(_DICTIONARY_PREFIX).replace("_", "/")


def is_servable_coding(coding: str) -> bool:
    """Whether servers find the directory of a dictionary by the field of a request."""
    return coding.count("_") <= MOST_SLASHES


def is_dictionary_coding(coding: str) -> bool:
    """Whether a directory of a level's tree is for files that are encoded with a dictionary."""
    return coding.startswith(_DICTIONARY_PREFIX)


def dictionary_path(name: str) -> str:
    """Return the path of the dictionary ``name`` in a tree."""
    return f"{OWN_DIRECTORY}{name}{DICTIONARY_EXTENSION}"


def name_of_dictionary(path: str) -> str:
    """Return the name of the dictionary at a path in a tree."""
    return path.removeprefix(OWN_DIRECTORY).removesuffix(DICTIONARY_EXTENSION)


def is_dictionary(path: str) -> bool:
    """Whether a file of a tree is a dictionary."""
    return path.startswith(OWN_DIRECTORY) and path.endswith(DICTIONARY_EXTENSION)


def token_of(coding: str) -> str:
    """Return the content coding of the files in a directory of a tree; "" for the identity and for image formats."""
    return DICTIONARY_TOKEN if is_dictionary_coding(coding) else TOKENS.get(coding, "")


def name_in_tree(coding: str, path: str) -> str:
    """Return the name that a representation of ``path`` has in the directory of its coding or format."""
    return f"{path}.{coding}" if coding in FORMATS else path


def path_of_name(coding: str, name: str) -> str:
    """Return the path of a name in the directory of a coding or format."""
    return name.removesuffix(f".{coding}") if coding in FORMATS else name


def is_negotiable(path: str) -> bool:
    """Whether a file may have alternates, by its name."""
    return path.rpartition(".")[2].lower() in NEGOTIABLE and "." in path
