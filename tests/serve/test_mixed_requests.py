"""Requests of mixed level, coding, class, bucket and mode: no server sends a wrong level or coding, or what was before.

ADAPTC_FUZZ=10 makes them 5,000 for each server.
"""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest

from tests.sites.built import BuiltSite
from tests.sites.served import POORER, ServedSite, serving

from adaptc.serve import state_directory

REQUESTS = 500 * int(os.environ.get("ADAPTC_FUZZ", "1"))
TURNS = 5
PAGE = "<!DOCTYPE html>\n<html lang=en>\n<title>A page</title>\n" + "<p>words</p>\n\n" * 99
LEVELS = ("full", "lossless", "poorer")
CODINGS = {"br": "br", "gzip": "gz", "zstd": "zst", "br, gzip": "br", "": "id", "br;q=0, gzip": "gz"}
WISHES = {None: None, ".full": "full", ".poorer": "poorer", ".poor": "poorer", "none": "off", "../x": "off"}
PROXIED = (("varnish", "nginx"), ("varnish", "apache"), ("haproxy", "nginx"), ("haproxy", "apache"))
FRONTS = (*PROXIED, ("lighttpd", ""), ("caddy", ""))
SETTLING = {"lighttpd": 2.1}  # seconds for which it keeps its tests of files


def lower(*levels: str) -> str:
    return max(levels, key=LEVELS.index)


@pytest.mark.servers
@pytest.mark.parametrize(("front", "origin"), FRONTS)
def test_nobody_gets_anothers_answer(tmp_path: Path, front: str, origin: str) -> None:
    files = {"index.html": PAGE, "news/index.html": PAGE.replace("words", "news")}
    served = ServedSite(BuiltSite(tmp_path).write(files), origin or front, POORER)
    settings = {"classes": True, "buckets": True, "normal_level": "full", "poor_level": "poorer", "rich_level": "full"}
    draw, shown = random.Random(40), set()
    with serving(served, front, trusted_proxies=["127.0.0.1"], **settings) as server:
        for turn in range(TURNS):
            is_on = turn != 2
            served.switch(is_on)
            buckets = {bucket: draw.choice(LEVELS) for bucket in state_directory.BUCKETS}
            state_directory.write_buckets(served.state, buckets, "full")
            time.sleep(SETTLING.get(front, 0))
            clients = {
                address: server.get("/", x_forwarded_for=address).headers.get("x-adapt", "off/").split("/")[0]
                for address in (f"10.0.{number}.{7 + 20 * number}" for number in range(12))
            }
            assert set(clients.values()) <= ({*LEVELS} if is_on else {"off"})
            for _ in range(REQUESTS // TURNS):
                address, path = draw.choice([*clients]), draw.choice(["", "index.html", "news/", "news/index.html?a=b"])
                accepted, wish, hint = draw.choice([*CODINGS]), draw.choice([*WISHES]), draw.choice([None, "on", "off"])
                fields = {"x_forwarded_for": address, "accept_encoding": accepted}
                fields |= {"x_server_actions": wish} if wish else {}
                fields |= {"save_data": hint} if hint else {}
                wanted = WISHES[wish] or ("poorer" if hint == "on" else "full")
                level = "off" if "off" in (wanted, clients[address]) else lower(wanted, clients[address])
                reply = server.get(f"/{path}", **fields)
                name = "news/index.html" if path.startswith("news") else "index.html"
                if level == "off":
                    assert (reply.status, reply.headers.get("x-adapt"), reply.body) == (200, None, files[name].encode())
                    continue
                coding = CODINGS[accepted]
                assert (reply.status, reply.headers["x-adapt"]) == (200, f"{level}/{coding}"), (fields, path)
                assert reply.body == served.site.read(name, level=level, coding=coding)
                shown.add(f"{level}/{coding}")
    assert len(shown) == len(LEVELS) * len(set(CODINGS.values()))
