"""A metadata handler for RomM: titles, years and covers of the Cover Catalogue, by the names of files.

It needs COVER_CATALOGUE_URL, which ends with /api/v1, and COVER_CATALOGUE_KEY.
"""

import asyncio
import json
import os
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from handler.metadata.base_handler import MetadataHandler

URL = os.environ.get("COVER_CATALOGUE_URL", "").rstrip("/")
KEY = os.environ.get("COVER_CATALOGUE_KEY", "")
REGIONS = os.environ.get("COVER_CATALOGUE_REGIONS", "us,wor,ss,eu,jp")


def _get(path: str, **query: str) -> dict:
    headers = {"Authorization": f"Bearer {KEY}"}
    with urlopen(Request(f"{URL}{path}?{urlencode(query)}", headers=headers), timeout=20) as reply:
        return json.load(reply)


class CoverCatalogueHandler(MetadataHandler):
    @classmethod
    def is_enabled(cls) -> bool:
        return bool(URL and KEY)

    async def heartbeat(self) -> bool:
        return self.is_enabled() and "games" in await asyncio.to_thread(_get, "/stats")

    async def get_platform(self, slug: str) -> dict:
        """The platform that RomM calls `slug`; {} if the catalogue does not have it."""
        found = await asyncio.to_thread(_get, "/search", platform=slug, per_page="1")
        return {"slug": slug, "name": found["data"][0]["platform"]["name"]} if found["data"] else {}

    async def get_roms(self, fs_names: list[str], slug: str) -> list[dict]:
        """What is known of up to 50 files of one platform, in their order; {} if nothing is."""
        query = {"platform": slug, "include": "cover", "prefer": REGIONS, "names": "/".join(fs_names)}
        return [self._rom(item) for item in (await asyncio.to_thread(_get, "/match", **query))["data"]]

    async def get_rom(self, fs_name: str, slug: str) -> dict:
        return (await self.get_roms([fs_name], slug))[0]

    def _rom(self, item: dict) -> dict:
        game = item["game"]
        if game is None:
            return {}
        files = game["cover"]["files"] if game["cover"] else []
        largest = max(files, key=lambda file: file["width"] or 0, default={"url": ""})
        return {
            "name": game["title"],
            "summary": game["description"] or "",
            "url_cover": largest["url"],
            "release_year": game["release_year"],
        }
