"""Prints the bodies of paths of the API from a snapshots folder, as lib/format/README.md describes it:

    python3 lib/format/reader.py snapshots /games/snes/chrono-trigger

It shows that the format can be read in any language, and is not part of the product. A generation is
accepted completely or refused. test/lib/format/reader.test.ts compares it with the product.
"""
import hashlib, json, re, struct, sys
from bisect import bisect_left, bisect_right
from itertools import accumulate
from pathlib import Path
from zlib import crc32

# The version of the format stands there, and nowhere else.
LAYOUT = Path(__file__).with_name("layout.ts").read_text()
VERSION = int(re.search(r"FORMAT_VERSION = (\d+)", LAYOUT)[1])
FORMATS = {"u8": "B", "u16": "H", "u32": "I", "i32": "i"}
PATH = re.compile(r"(?:(?:games|covers|titles|index)/)?[\w~-][\w.~-]*\.(?:json|bin)", re.ASCII)


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
        hashed = ["format_version", "latest_cover_at", "counts", "settings", "files"]
        without_times = {**manifest, "files": [{k: file[k] for k in ("path", "size", "sha256")} for file in manifest["files"]]}
        text = json.dumps([without_times[key] for key in hashed], separators=(",", ":"), ensure_ascii=False)
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
        self.platforms = json.loads(self.files["platforms.json"])["data"]
        # For each kind: the number of each platform's first record, and at the end the number of all records.
        self.first = {
            kind: list(accumulate((platform[count] for platform in self.platforms), initial=0))
            for kind, count in (("games", "game_count"), ("covers", "cover_count"))
        }
        index = lambda name: columns(self.files[f"index/{name}.bin"])
        self.games, self.covers, self.paths = index("games"), index("covers"), index("paths")

    def records(self, kind, start, end):
        """Consecutive records of one platform: a slice of its pack, separators included."""
        index = self.games if kind == "games" else self.covers
        platform = self.platforms[bisect_right(self.first[kind], start) - 1]
        pack = self.files[f"{kind}/{platform['slug']}.json"]
        return pack[index["offset"][start] : index["offset"][end - 1] + index["length"][end - 1]]

    def list_of(self, kind, start, end, tail=b"]}"):
        return b'{"data":[' + (b"\n" + self.records(kind, start, end) + b"\n" if start < end else b"") + tail

    def slug(self, game):
        start, end = self.paths["slugStart"][game : game + 2]
        return bytes(self.paths["slugText"][start:end])

    def game_at(self, platform, slug):
        """The number of a game; None if there is no such game."""
        (first, end), games = self.first["games"][platform : platform + 2], self.paths["bySlug"]
        wanted, hashes = slug.encode(), self.paths["slugHash"]
        at, after = (bisect(hashes, crc32(wanted), first, end) for bisect in (bisect_left, bisect_right))
        return next((game for game in games[at:after] if self.slug(game) == wanted), None)

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
                first, end = self.first["games"][platform : platform + 2]
                tail = f'],"page":1,"per_page":50,"total":{end - first},"total_pages":{-(-(end - first) // 50)}}}'
                return self.list_of("games", first, min(first + 50, end), tail.encode())
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
