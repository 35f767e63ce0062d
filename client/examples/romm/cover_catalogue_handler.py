"""A metadata handler for RomM: titles, years and covers of the Cover Catalogue, by the names of files.

It needs COVER_CATALOGUE_URL, which ends with /api/v1, and COVER_CATALOGUE_KEY. It never raises an error: what it
cannot find out is logged, and counts as not found. Requests wait for one another, and for the limit of the key.
"""

import asyncio
import json
import logging
import os
from urllib.error import HTTPError
from urllib.parse import quote, urlencode
from urllib.request import Request, urlopen

from handler.metadata.base_handler import MetadataHandler

URL = os.environ.get("COVER_CATALOGUE_URL", "").rstrip("/")
KEY = os.environ.get("COVER_CATALOGUE_KEY", "")
REGIONS = os.environ.get("COVER_CATALOGUE_REGIONS", "us,wor,ss,eu,jp")
# What one call takes: names, characters of a name, bytes of all names once they are encoded.
MOST_NAMES, LONGEST_NAME, MOST_BYTES = 50, 255, 7_500

log = logging.getLogger("romm")


def _read(path: str, query: dict) -> dict:
    headers = {"Authorization": f"Bearer {KEY}"}
    with urlopen(Request(f"{URL}{path}?{urlencode(query)}", headers=headers), timeout=20) as reply:
        return json.load(reply)


class CoverCatalogueHandler(MetadataHandler):
    def __init__(self) -> None:
        # RomM asks for all files at once. One request after another, so that all wait for the limit together.
        self._one = asyncio.Lock()
        self._platforms: dict[str, dict] = {}

    @classmethod
    def is_enabled(cls) -> bool:
        return bool(URL and KEY)

    async def heartbeat(self) -> bool:
        return self.is_enabled() and "games" in await self._get("/stats")

    def get_platform(self, slug: str) -> dict:
        """The platform that RomM calls `slug`; without an id if the catalogue does not have it."""
        if slug not in self._platforms:
            try:
                found = _read("/search", {"platform": slug, "per_page": 1})["data"]
            except (OSError, ValueError) as error:
                log.error("Cover Catalogue: platform %s: %s", slug, error)
                return {"slug": slug, "cover_catalogue_id": None}
            known = found[0]["platform"] if found else {"slug": None}
            named = {"name": known["name"]} if found else {}
            self._platforms[slug] = {"slug": slug, "cover_catalogue_id": known["slug"], **named}
        return self._platforms[slug]

    async def get_rom(self, fs_name: str, slug: str) -> dict:
        return (await self.get_roms([fs_name], slug))[0]

    async def get_roms(self, fs_names: list[str], slug: str) -> list[dict]:
        """What is known of the files of one platform, in their order; without an id if nothing is."""
        found: dict[str, dict] = {}
        for names in _cut(dict.fromkeys(fs_names)):
            query = {"platform": slug, "include": "cover", "prefer": REGIONS, "names": "/".join(names)}
            for item in (await self._get("/match", query)).get("data", []):
                found[item["name"]] = _rom(item["game"])
        return [found.get(name, _rom(None)) for name in fs_names]

    async def _get(self, path: str, query: dict | None = None) -> dict:
        async with self._one:
            while True:
                try:
                    return await asyncio.to_thread(_read, path, query or {})
                except HTTPError as error:
                    if error.code not in (429, 503):
                        log.error("Cover Catalogue: %s %s", error, error.read().decode("utf-8", "replace"))
                        return {}
                    await asyncio.sleep(int(error.headers.get("Retry-After", 1)))
                except (OSError, ValueError) as error:
                    log.error("Cover Catalogue: %s", error)
                    return {}


def _cut(names):
    """Lists of names, as many as one call takes. Names that no call takes are left out."""
    part, size = [], 0
    for name in names:
        more = len(quote(name, safe="")) + 3
        if not 0 < len(name) <= LONGEST_NAME or "/" in name or more > MOST_BYTES:
            continue
        if len(part) == MOST_NAMES or size + more > MOST_BYTES:
            yield part
            part, size = [], 0
        part.append(name)
        size += more
    if part:
        yield part


def _rom(game: dict | None) -> dict:
    if game is None:
        return {"cover_catalogue_id": None}
    files = game["cover"]["files"] if game["cover"] else []
    largest = max(files, key=lambda file: file["width"] or 0, default={"url": ""})
    return {
        "cover_catalogue_id": game["id"],
        "name": game["title"],
        "summary": game["description"] or "",
        "url_cover": largest["url"],
        "release_year": game["release_year"],
    }
