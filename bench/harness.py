"""What the comparisons with PyTorch share: our benchmark programs, a Python that has PyTorch, and children that are asked line
by line. Standard library only."""
import json
import os
import subprocess
import sys
import venv

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "release")
TORCH = "2.13.0"
THREADS = 2


def note(text):
    print(text, file=sys.stderr, flush=True)


def processor():
    """What the system calls it, with family and model, which tell generations apart where the name does not."""
    facts = {}
    with open("/proc/cpuinfo") as listing:
        for line in listing:
            key, _, value = line.partition(":")
            facts.setdefault(key.strip(), value.strip())
    return f"{facts.get('model name', 'unknown')} (family {facts.get('cpu family', '?')}, model {facts.get('model', '?')})"


def run_quietly(command):
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}")


def bench_program(target):
    """Builds the target in the release build; its path. With Debian's own cmake, as tools/build does: another one builds all anew."""
    cmake = "/usr/bin/cmake" if os.access("/usr/bin/cmake", os.X_OK) else "cmake"
    run_quietly([cmake, "--preset", "release", "-DTHIMBLE_BENCH=ON"])
    run_quietly([cmake, "--build", BUILD, "--target", target])
    return os.path.join(BUILD, "bench", target)


def torch_python():
    """The Python named by THIMBLE_TORCH_PYTHON, or one of our own with PyTorch, made at first need."""
    given = os.environ.get("THIMBLE_TORCH_PYTHON")
    if given:
        return given
    folder = os.path.join(ROOT, "build", f"torch-{TORCH}")
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(os.path.join(folder, "complete")):
        note(f"making {folder} with torch=={TORCH}; THIMBLE_TORCH_PYTHON names another Python")
        venv.create(folder, with_pip=True, clear=True)
        run_quietly([python, "-m", "pip", "install", f"torch=={TORCH}", "numpy"])
        open(os.path.join(folder, "complete"), "w").close()
    return python


class Child:
    """A process that answers a line of JSON to a line of text, after a first line of its own."""

    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.greeting = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.process.args[0]} ended with code {self.process.wait()}")
        return json.loads(line)

    def ask(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()
        return self.read()

    def end(self):
        self.process.stdin.close()
        self.process.wait()
