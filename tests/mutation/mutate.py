#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""mutate.py [-n N] [--seed S] [--least PERCENT] [FILE...] - do the unit tests notice a changed sign?

Makes one change at a time in the pure rooms (or in FILE...): another operator, number or return value, a negated condition, a
statement left out. Compiles the changed file alone, links it into the unit tests that name its object in tests/unit/links.mk and runs
them, the quickest first, until one fails. A change that all of them pass has survived: it is printed with its line. The changed file
and the tests have the address and undefined behaviour sanitizers, as in `make check`. What does not compile, or compiles to the
same code, is no mutant, nor is room for one more in an allocation. Tests over random worlds have REEVE_WORLDS=15 of them.
Nothing in the tree is written but below build/mutation.
TAP; exit 1 where fewer than PERCENT (92) die.
"""
import argparse, collections, concurrent.futures, os, random, re, shlex, signal, subprocess, sys, threading, time

ROOMS = ["common/model", "agent/admit", "controller/policy", "controller/scheduler", "controller/simulate", "controller/history"]
OUT = "build/mutation"
TESTS_MOST = 5    # of an object that many tests link, but all of the folder nearest to it: then those that link the fewest others
OBJECTS_MOST = 60 # more links a test of the ledger: none of a pure room, unless there is no other
SLOWER = 20      # a test that takes so many times longer than it did, and more than 10 s, has noticed: the change made it loop
PATTERN = "-ftrivial-auto-var-init=pattern" # of changed files alone: in test_fit.c gcc 12 spoils values that a function returns
FLAGS = f"-std=gnu17 -D_GNU_SOURCE -O1 -w -fPIE {PATTERN} -fsanitize=address,undefined -fno-sanitize-recover=all -MMD".split()

SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+",
         "*": "/", "/": "*", "%": "*", "+=": "-=", "-=": "+=", "++": "--", "--": "++", "!": "", "&": "|", "|": "&",
         "<<": ">>", ">>": "<<"}
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|^[ \t]*#(?:\\\n|[^\n])*'
                   r'|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+\w*|\d[\w.]*|->|\+\+|--|<<=|>>=|[-+*/%&|^<>=!]=|<<|>>|&&|\|\||\.\.\.|\s+|.', re.S | re.M)
WORD = re.compile(r"[A-Za-z_]\w*$")
OTHER_RETURN = {"0": "1", "false": "true", "true": "false"}


class Mutant:
    def __init__(self, path, text, begin, end, new):
        self.path = path
        self.line = text.count("\n", 0, begin) + 1
        first, last = text.rfind("\n", 0, begin) + 1, text.find("\n", end)
        self.before = " ".join(text[first:last].split())
        self.after = " ".join((text[first:begin] + new + text[end:last]).split())
        self.text = text[:begin] + new + text[end:]

    def __str__(self):
        return f"{self.path}:{self.line}: {self.before}   ->   {self.after}"


def is_binary(before):
    """Does an operator after this token have a left operand?"""
    return bool(before) and (before[-1] in ")]" or before[0].isdigit()
                             or WORD.match(before) is not None and before not in ("return", "case", "sizeof"))


def is_pointer(text, m):
    """`struct job *j`: a declaration, not a product, by its spacing."""
    return text[m.start() - 1] in " (" and not text[m.end():m.end() + 1].isspace()


def find_close(text, at):
    """The end of the bracket that opens at `at`."""
    depth = 0
    for m in TOKEN.finditer(text, at):
        depth += (m.group() == "(") - (m.group() == ")")
        if depth == 0:
            return m.end()
    return len(text)


def is_removable(statement):
    """A call, an assignment or a count: not a declaration, nor what the compiler needs."""
    return re.match(r"(\(void\)|return|goto|break|continue|case|default|else|do|for|while|if|switch|va_)", statement) is None and \
        re.match(r"[*(]*\w[\w.\[\]>*+ -]*?([-+*/|&%]?=[^=]|\+\+|--)|\w+\(", statement) is not None and \
        re.match(r"(const |struct |enum |static |unsigned |_cleanup|(u?int\d*(_t)?|size_t|bool|char|double|long|float)\b)", statement) is None


def is_room(text, at):
    """Is it a number in the size of an allocation? Room for one more changes nothing that the code does."""
    begin = max(text.rfind(c, 0, at) for c in ";{}") + 1
    calls = list(re.finditer(r"\b\w*(alloc|_reserve)\(", text[begin:at]))
    return bool(calls) and find_close(text, begin + calls[-1].end() - 1) > at


def mutate_token(path, text, m, before):
    """What may stand in place of this token, inside of a function."""
    t, at = m.group(), m.start()
    if t in SWAPS and (is_binary(before) or t in ("!", "++", "--")) and not (t == "*" and is_pointer(text, m)):
        yield Mutant(path, text, at, m.end(), SWAPS[t])
    elif re.fullmatch(r"\d+", t) and before not in ("[", "case", "return") and not is_room(text, at):
        yield Mutant(path, text, at, m.end(), str(int(t) + 1))
    elif t == "return":
        end = text.index(";", at)
        value = text[at + 6:end].strip()
        if value not in ("", "NULL"):
            yield Mutant(path, text, at, end, f"return {OTHER_RETURN.get(value, '0')}")
    elif t in ("if", "while") and text[m.end():m.end() + 2] == " (":
        end = find_close(text, m.end() + 1)
        yield Mutant(path, text, m.end() + 1, end, f"(!{text[m.end() + 1:end]})")
    if before in (";", "{", "}", ")") and WORD.match(t) and re.fullmatch(r"\s*", text[text.rfind("\n", 0, at) + 1:at]):
        end = text.index(";", at) + 1
        if is_removable(text[at:end]):
            yield Mutant(path, text, at, end, ";")


def find_mutants(path):
    """Inside of functions alone: not in declarations, tables, preprocessor lines, comments or texts."""
    with open(path, encoding="utf-8") as f:
        text = f.read()
    depth, is_function, before, found, is_table = 0, False, "", [], False
    for m in TOKEN.finditer(text):
        t = m.group()
        if t.isspace() or t.startswith(("/*", "//")) or t.lstrip().startswith("#"):
            continue
        if t == "{":
            is_function = before == ")" if depth == 0 else is_function
            depth += 1
        elif t == "}":
            depth -= 1
        elif depth and is_function:
            is_table = is_table or t == "static"
            if is_table:
                is_table = t != ";"
            else:
                found += mutate_token(path, text, m, before)
        before = t
    return found


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)


def is_current(made):
    """Is a compiled file newer than all that it was made of?"""
    try:
        at = os.stat(made).st_mtime
        with open(made[:-2] + ".d", encoding="utf-8") as f:
            of = f.read().replace("\\\n", " ").split(":", 1)[1].split()
        return all(os.stat(o).st_mtime <= at for o in of)
    except (OSError, IndexError):
        return False


class Test:
    """A unit test: its own files are compiled once, and linked with each changed object."""

    def __init__(self, name, command):
        words = shlex.split(command)
        self.name, self.lock, self.seconds = name, threading.Lock(), None
        self.sources = [w for w in words if w.endswith(".c")]
        self.objects = [w for w in words if w.endswith(".o")]
        self.libraries = [w for w in words if w.startswith("-l")]
        self.includes = [w for w in words if w.startswith("-I")]
        at = [i for i, w in enumerate(words) if w == "-iquote"]
        self.includes += [w for i in at for w in words[i:i + 2]]

    def nearness(self, path):
        """How many folders it has in common with a file."""
        folder = os.path.dirname(next(s for s in self.sources if os.path.basename(s) == f"{self.name}.c"))[len("tests/unit/"):]
        return len(os.path.commonprefix([folder.split("/"), path.split("/")[:-1]]))

    def distance(self, path):
        """From a file without its suffix: of its name, of its folder, of its room; then the smaller."""
        return (os.path.basename(path) not in self.name, -self.nearness(path), len(self.objects), self.name)

    def compile_sources(self):
        made = []
        for s in self.sources:
            o = f"{OUT}/{self.name}-{os.path.basename(s)[:-2]}.o"
            if not is_current(o):
                said = run(["cc", *(f for f in FLAGS if f != PATTERN), *self.includes, "-c", s, "-o", o])
                if said.returncode:
                    sys.exit(f"mutate.py: {s} does not compile:\n{said.stdout[-2000:]}")
            made.append(o)
        return made

    def passes(self, old, new, limit):
        """With the changed object in place of its own."""
        program = f"{OUT}/{os.path.basename(new)}.{self.name}"
        objects = [new if o == old else o for o in self.objects]
        linked = run(["cc", "-pie", "-fsanitize=address,undefined", "-Wl,--as-needed", "-o", program, *self.compiled, *objects, "-lcmocka",
                      *self.libraries])
        if linked.returncode:
            sys.exit(f"mutate.py: {self.name} does not link:\n{linked.stdout[-2000:]}")
        try:
            return run_program(program, limit)
        finally:
            os.unlink(program)

    def notices(self, old, new):
        with self.lock:
            if self.seconds is None:
                self.compiled = self.compile_sources()
                begun = time.monotonic()
                if not self.passes(old, old, 300):
                    sys.exit(f"mutate.py: {self.name} fails without any change: mend it first")
                self.seconds = time.monotonic() - begun
        return not self.passes(old, new, max(10, SLOWER * self.seconds))


def run_program(program, limit):
    """Without children that outlive it: a changed one may wait for ever."""
    env = dict(os.environ, ASAN_OPTIONS="abort_on_error=0:detect_leaks=1", UBSAN_OPTIONS="halt_on_error=1", MALLOC_PERTURB_="165",
               REEVE_WORLDS="15")
    p = subprocess.Popen([program], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=env,
                         start_new_session=True)
    try:
        return p.wait(timeout=limit) == 0
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()
        return False


def read_tests():
    """The unit tests that link each object, its own first."""
    of_object = collections.defaultdict(list)
    made = run(["make", "-n", "-B", "--no-print-directory", "-j1", "V=1", "unit-tests"])
    if made.returncode:
        sys.exit(f"mutate.py: make names no unit tests:\n{made.stdout[-2000:]}")
    for line in made.stdout.replace("\\\n", " ").splitlines():
        link = re.search(r"-o build/tests/unit/(test_\w+) [^;&|]*", line)
        if link:
            test = Test(link.group(1), link.group())
            test.includes = Test("", line[:link.start()]).includes
            for o in test.objects:
                of_object[o].append(test)
    small = {o: [t for t in tests if len(t.objects) <= OBJECTS_MOST] or tests for o, tests in of_object.items()}
    return {o: choose_tests(o[len("build/"):-2], tests) for o, tests in small.items()}


def choose_tests(path, tests):
    """Of a file without its suffix: all of the tests' folder that is nearest to it, and others up to TESTS_MOST."""
    nearest = max(t.nearness(path) for t in tests)
    by_distance = sorted(tests, key=lambda t: t.distance(path))
    return [t for i, t in enumerate(by_distance) if i < TESTS_MOST or t.nearness(path) == nearest]


def translate(path, text, to):
    """The file's object code, optimised: two texts of the same code are equal in it."""
    folder = os.path.dirname(path)
    run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-w", "-fPIE", "-I.", "-Ibuild", "-iquote", folder, "-x", "c", "-c", "-", "-o", to], input=text)
    with open(to, "rb") as f:
        return f.read()


def is_same_code(mutant, to):
    """Does the compiler find that the change is none, as `return HISTORY_OK` against `return 0`?"""
    with open(mutant.path, encoding="utf-8") as f:
        return translate(mutant.path, f.read(), to) == translate(mutant.path, mutant.text, to)


def build_objects(tests, files, jobs):
    """All that the tests of these files link: one call of make, which knows what is up to date."""
    objects = sorted({o for f in files for t in tests[f"build/{f[:-2]}.o"] for o in t.objects})
    made = run(["make", "-s", "--no-print-directory", f"-j{jobs}", *objects])
    if made.returncode:
        sys.exit(f"mutate.py: the objects do not build:\n{made.stdout[-2000:]}")


class Trial:
    """Runs mutants until N of them compiled. A test that noticed changes of a file is asked earlier about the next."""

    def __init__(self, tests, n):
        self.tests, self.n, self.lock = tests, n, threading.Lock()
        self.tried, self.survivors, self.noticed_by = 0, [], collections.Counter()

    def try_mutant(self, at_mutant):
        at, mutant = at_mutant
        if self.tried >= self.n:
            return
        old, new, source = f"build/{mutant.path[:-2]}.o", f"{OUT}/m{at}.o", f"{OUT}/m{at}.c"
        with open(source, "w", encoding="utf-8") as f:
            f.write(f'#line 1 "{mutant.path}"\n' + mutant.text)
        folder = os.path.dirname(mutant.path)
        if run(["cc", *FLAGS, "-I.", "-Ibuild", "-iquote", folder, "-c", source, "-o", new]).returncode == 0:
            tests = sorted(self.tests[old], key=lambda t: (t.seconds or 0) / (1 + self.noticed_by[old, t.name]))
            test = next((t for t in tests if t.notices(old, new)), None)
            if test or not is_same_code(mutant, new):
                self.count(mutant, old, test)
        for f in (source, new, f"{new[:-2]}.d"):
            if os.path.exists(f):
                os.unlink(f)

    def count(self, mutant, old, test):
        with self.lock:
            if self.tried >= self.n:
                return
            self.tried += 1
            if test:
                self.noticed_by[old, test.name] += 1
            else:
                self.survivors.append(mutant)
                print(f"# survived: {mutant}", flush=True)
            if self.tried % 10 == 0:
                print(f"# {self.tried} tried, {len(self.survivors)} survived", flush=True)
        if sys.stderr.isatty():
            print(f"\r{self.tried}/{self.n}", end="", file=sys.stderr, flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=100, help="mutants to try (100)")
    p.add_argument("-j", type=int, default=os.cpu_count(), help="mutants at a time (as many as there are cores)")
    p.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    p.add_argument("--least", type=float, default=92, help="percent that must die (92)")
    p.add_argument("files", nargs="*", metavar="FILE")
    a = p.parse_args()
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")
    os.makedirs(OUT, exist_ok=True)
    tests = read_tests()
    every = sorted(os.path.join(d, f) for room in ROOMS for d, _, fs in os.walk(room) for f in fs if f.endswith(".c"))
    files = a.files or every
    unlinked = [f for f in files if f"build/{f[:-2]}.o" not in tests]
    mutants = [m for f in files if f not in unlinked for m in find_mutants(f)]
    print(f"# seed {a.seed}: {min(a.n, len(mutants))} of {len(mutants)} mutants in {len(files) - len(unlinked)} files", flush=True)
    for f in unlinked:
        print(f"# no unit test links {f}")
    build_objects(tests, [f for f in files if f not in unlinked], a.j)
    random.Random(a.seed).shuffle(mutants)
    trial = Trial(tests, a.n)
    with concurrent.futures.ThreadPoolExecutor(a.j) as pool:
        for done in pool.map(trial.try_mutant, enumerate(mutants)):
            pass
    died = 100 * (trial.tried - len(trial.survivors)) / max(trial.tried, 1)
    good = trial.tried > 0 and died >= a.least
    print(f"{'' if good else 'not '}ok 1 - the unit tests notice {died:.1f} % of {trial.tried} changed signs, at least {a.least:g} %\n1..1")
    sys.exit(not good)


if __name__ == "__main__":
    main()
