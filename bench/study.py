"""What long studies of the program share: calls of it, a kernel's limit round a call, a ledger that lets a study go on where it was cut,
and drawn pictures. Standard library only."""
import json
import os
import pathlib
import random
import struct
import subprocess
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
THIMBLE = os.environ.get("THIMBLE_BINARY", str(ROOT / "build/release/thimble"))
CONTROLLER = pathlib.Path("/sys/fs/cgroup/memory")
CLASSES = 10  # of drawn pictures and masks
MIB = 2**20
LATE = "late"  # stands in place of an exit code


def add_common_options(parser, name):
    parser.add_argument("--thimble", default=THIMBLE, help="the program (default: THIMBLE_BINARY or build/release/thimble)")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build" / name, help="folder for the results so far and drawn pictures")


class Ledger:
    """Records by key in a file of JSON lines: what is in it was done by an earlier run of the study."""

    def __init__(self, path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path, self.records = path, {}
        if path.exists():
            for line in path.read_text().splitlines():
                try:
                    record = json.loads(line)
                except ValueError:  # a last line that was cut
                    continue
                self.records[record["key"]] = record

    def get_or_make(self, key, make):
        if key not in self.records:
            record = {"key": key} | make()
            with open(self.path, "a") as file:
                file.write(json.dumps(record) + "\n")
            self.records[key] = record
        return self.records[key]


class MemoryGroup:
    """A group of the cgroup v1 memory controller with a limit and no swap; gone with the block."""

    def __init__(self, limit):
        self.path, self.limit = CONTROLLER / f"thimble-study-{os.getpid()}", limit

    def __enter__(self):
        self.path.mkdir(exist_ok=True)
        self.set("memory.limit_in_bytes", self.limit)
        if (self.path / "memory.memsw.limit_in_bytes").exists():
            self.set("memory.memsw.limit_in_bytes", self.limit)
        self.set("memory.swappiness", 0)
        return self

    def __exit__(self, *_):
        for _ in range(50):  # the kernel lets go of a dead process's pages a moment after its end
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.1)

    @staticmethod
    def is_possible():
        return os.access(CONTROLLER, os.W_OK)

    def set(self, file, value):
        (self.path / file).write_text(str(value))

    def enter(self):
        self.set("cgroup.procs", os.getpid())

    def peak_bytes(self):
        """Of everything charged to the group: the process, its page cache, its kernel memory."""
        return int((self.path / "memory.max_usage_in_bytes").read_text())

    def kills(self):
        facts = dict(line.split() for line in (self.path / "memory.oom_control").read_text().splitlines())
        return int(facts.get("oom_kill", 0))


def run_thimble(program, verb, words, group=None, timeout=None):
    """(exit code or LATE, facts or None, what it said, seconds)."""
    began = time.monotonic()
    try:
        done = subprocess.run([program, verb] + words + ["--json"], capture_output=True, text=True, timeout=timeout,
                              preexec_fn=group.enter if group else None)
    except subprocess.TimeoutExpired:
        return LATE, None, f"no end within {timeout} s", time.monotonic() - began
    took = time.monotonic() - began
    lines = done.stdout.strip().splitlines()
    return done.returncode, json.loads(lines[-1]) if lines and done.returncode in (0, 3) else None, done.stderr, took


def drop_page_cache():
    os.sync()
    pathlib.Path("/proc/sys/vm/drop_caches").write_text("3")


class ReadAhead:
    """How far the system reads ahead on the disk that holds a file, in KiB; as it was before after the block."""

    def __init__(self, path, kib):
        device = os.stat(path).st_dev
        self.setting = pathlib.Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}/read_ahead_kb")
        self.kib = kib

    def __enter__(self):
        self.before = self.setting.read_text() if self.setting.exists() else None
        if self.before:
            self.setting.write_text(str(self.kib))
        return self

    def __exit__(self, *_):
        if self.before:
            self.setting.write_text(self.before)


def png(width, height, channels, rows):
    """rows: width * channels bytes each; grey for one channel, colour for three."""

    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2}[channels], 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows), 1)) +
            chunk(b"IEND", b""))


def drawn_picture(draw, size):
    """Bands of a random colour with a little noise: smooth as photographs are."""
    colour = [draw.randrange(1, 5) for _ in range(3)]
    return png(size, size, 3, [bytes((colour[c] * (x + y) + draw.randrange(16)) % 256 for x in range(size) for c in range(3)) for y in range(size)])


def draw_pictures(folder, size, train=40, val=10):
    """A folder of pictures of CLASSES classes, the same bytes at each call; its path."""
    return draw_once(folder, size, {"train": train, "val": val}, lambda part, i: part / f"class{i % CLASSES}" / f"{i}.png", None)


def draw_masked_pictures(folder, size, train=40, val=10):
    """The same with a class for every pixel."""
    def mask(draw):
        return png(size, size, 1, [bytes([draw.randrange(CLASSES)]) * size for _ in range(size)])

    return draw_once(folder, size, {"train": train, "val": val}, lambda part, i: part / "images" / f"{i}.png", mask)


def draw_once(folder, size, parts, path_of, mask):
    if not (folder / "complete").exists():
        draw = random.Random(size)
        for part, count in parts.items():
            for i in range(count):
                path = path_of(folder / part, i)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(drawn_picture(draw, size))
                if mask:
                    (folder / part / "masks").mkdir(exist_ok=True)
                    (folder / part / "masks" / path.name).write_bytes(mask(draw))
        if mask:
            (folder / "classes.txt").write_text("".join(f"class{i}\n" for i in range(CLASSES)))
        (folder / "complete").touch()
    return folder
