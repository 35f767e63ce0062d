"""Prints the bodies of paths of the API from a snapshots folder, as format/README.md describes it:

    python3 format/reader.py snapshots /games/snes/chrono-trigger

It shows that the format can be read in any language, and is not part of the product. A generation is
accepted completely or refused. test/format/reader.test.ts compares it with the product.
"""
import hashlib, json, re, struct, sys
from bisect import bisect_right
from pathlib import Path

VERSION = 4
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "i32": "i", "f64": "d"}
PATH = re.compile(r"(?:(?:games|covers|index)/)?[\w~-][\w.~-]*\.(?:json|bin)", re.ASCII)


def columns(data):
    """The columns of a .bin file, by name."""
    magic, version, length = struct.unpack_from("<8sII", data)
    if magic != b"CCCOLUMN" or version != VERSION:
        raise ValueError("an index is damaged or of another version")
    directory = json.loads(data[16 : 16 + length])
    return {
        name: struct.unpack_from(f"<{column['length']}{FORMATS[column['type']]}", data, column["start"])
        for name, column in directory.items()
    }


def slug_hash(platform, slug):
    found = 0x811C9DC5 ^ platform
    for byte in slug.encode():
        found = (found ^ byte) * 0x01000193 & 0xFFFFFFFF
    found = (found ^ found >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    return found ^ found >> 13


class Generation:
    """The current generation of a folder, checked. Numbers of games and covers count from 0."""

    def __init__(self, snapshots):
        # Read the link once: it may change at any moment, the generation behind it never.
        name = Path(snapshots, "current").readlink().name
        if not re.fullmatch(r"\d{6,15}-[0-9a-f]{12}", name):
            raise ValueError(f"current leads to {name}, which is not a generation")
        folder = Path(snapshots, "generations", name)
        manifest = json.loads((folder / "manifest.json").read_bytes())
        if manifest["format_version"] != VERSION:
            raise ValueError(f"manifest.json has version {manifest['format_version']}, not {VERSION}")
        hashed = ["format_version", "latest_cover_at", "counts", "settings", "minisearch_options", "files"]
        text = json.dumps([manifest[key] for key in hashed], separators=(",", ":"), ensure_ascii=False)
        content = hashlib.sha256(text.encode()).hexdigest()
        if name != manifest["id"] or name != f"{manifest['sequence']:06}-{content[:12]}":
            raise ValueError("manifest.json does not match the name of its folder")
        self.files = {}
        for entry in manifest["files"]:
            if not PATH.fullmatch(entry["path"]):
                raise ValueError(f"{entry['path']} is not a file of a generation")
            data = (folder / entry["path"]).read_bytes()
            if len(data) != entry["size"] or hashlib.sha256(data).hexdigest() != entry["sha256"]:
                raise ValueError(f"{entry['path']} is damaged")
            self.files[entry["path"]] = data
        self.platforms = json.loads(self.files["index/platforms.json"])
        index = lambda name: columns(self.files[f"index/{name}.bin"])
        self.games, self.covers, self.paths = index("games"), index("covers"), index("paths")

    def platform_of(self, number, first):
        """The platform of a game or cover: the last whose first number is not greater."""
        return bisect_right(self.platforms, number, key=lambda platform: platform[first]) - 1

    def records(self, kind, start, end):
        """Consecutive records of one platform: a slice of its pack, separators included."""
        index, first = (self.games, "first_game") if kind == "games" else (self.covers, "first_cover")
        pack = self.files[f"{kind}/{self.platforms[self.platform_of(start, first)]['slug']}.json"]
        return pack[int(index["offset"][start]) : int(index["offset"][end - 1]) + index["length"][end - 1]]

    def list_of(self, kind, start, end, tail=b"]}"):
        return b'{"data":[' + (b"\n" + self.records(kind, start, end) + b"\n" if start < end else b"") + tail

    def game_at(self, platform, slug):
        """The number of a game, through the hash table; None if there is no such game."""
        slots, starts = self.paths["slots"], self.paths["slugStart"]
        for step in range(len(slots)):
            game = slots[(slug_hash(platform, slug) + step) % len(slots)] - 1
            if game < 0:
                return None
            found = bytes(self.paths["slugText"][starts[game] : starts[game + 1]]).decode()
            if self.platform_of(game, "first_game") == platform and found == slug:
                return game

    def cover_with(self, cover_id):
        """The number of the cover with an id; None if there is none."""
        low, high = self.covers["idLow"], self.covers["idHigh"]
        ids = ((high[n] << 32 if high else 0) + low[n] for n in range(len(low)))
        return dict(zip(ids, self.covers["numberOfId"])).get(cover_id)

    def body(self, path):
        """The body of a path of the API; None if there is no such record."""
        parts = path.strip("/").split("/")
        platform = next((n for n, each in enumerate(self.platforms) if parts[1:2] == [each["slug"]]), None)
        game = self.game_at(platform, parts[2]) if parts[0] == "games" and platform is not None else None
        match parts:
            case ["platforms"] | ["stats"] | ["covers", "recent"]:
                return self.files["-".join(parts) + ".json"]
            case ["platforms", _, "games"] if platform is not None:
                first, games = (self.platforms[platform][key] for key in ("first_game", "games"))
                tail = f'],"page":1,"per_page":50,"total":{games},"total_pages":{-(-games // 50)}}}'
                return self.list_of("games", first, first + min(games, 50), tail.encode())
            case ["games", _, _] if game is not None:
                return self.records("games", game, game + 1)
            case ["games", _, _, "covers"] if game is not None:
                return self.list_of("covers", *self.games["firstCover"][game : game + 2])
            case ["covers", number] if (cover := self.cover_with(int(number))) is not None:
                return self.records("covers", cover, cover + 1)


if __name__ == "__main__":
    generation = Generation(sys.argv[1])
    for path in sys.argv[2:]:
        sys.stdout.buffer.write((generation.body(path) or b"not found") + b"\n")
