"""A small site with a file of each kind, which tests of whole builds build."""

from __future__ import annotations

import struct
import zlib

PAGE = "<!DOCTYPE html>\n<html>\n<head><title>{title}</title>\n{head}\n</head>\n<body>\n{body}\n</body>\n</html>\n"
FILLER = "<p>Enough words for a content coding to be worth its while, again and again and again.</p>\n" * 5
SHEET = "/* colours */\n.one   { color : #ff0000 ; margin : 0px }\n"


def page(title: str, body: str = "", head: str = "") -> str:
    return PAGE.format(title=title, head=head, body=FILLER + body)


def png(width: int = 8) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    head = struct.pack(">IIBBBBB", width, width, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x10\x20\x30" * width) * width, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


FILES: dict[str, str | bytes] = {
    "index.html": page("home", '<a href="a.html">A</a><img src="i/dot.png">', '<link rel="stylesheet" href="one.css">'),
    "a.html": page("A", '<a href="index.html">home</a>', '<script src="js/app.js"></script>'),
    "sub/b.html": page("B", '<img src="../i/dot.png">'),
    "one.css": SHEET,
    "js/app.js": "// a comment\nfunction add( first , second ) {\n    return first + second;\n}\n" * 20,
    "i/dot.png": png(),
    "notes.txt": "plain text\n" * 40,
    "deep/er/still.bin": bytes(range(256)),
}
